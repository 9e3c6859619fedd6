/**
 * The contract of a compaction engine, as a suite that every engine runs.
 *
 * `compactionContract('basic', makeStage)` in a spec file is all it takes. It judges an engine by its three operations and by
 * what they leave in the log; how it measures, what it keeps and how it words a summary are its own.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failureLaws } from './contract-failures.ts'
import { never, type Play } from './contract-play.ts'
import { refusalLaws } from './contract-refusals.ts'
import { ROUTE, Summarizer, WINDOW_TOKENS, type CompactionStage, type MakeStage } from './contract-stage.ts'
import { successLaws } from './contract-success.ts'

export type { CompactionStage, MakeStage, StageInit } from './contract-stage.ts'

export interface ContractOptions {
  /** Laws, by their whole title, that do not hold for this engine, each with the reason. */
  readonly skip?: { readonly [law: string]: string }
}

export function compactionContract(name: string, makeStage: MakeStage, { skip = {} }: ContractOptions = {}): void {
  describe(`${name} keeps the contract of compaction`, () => {
    let stage: CompactionStage
    let summarizer: Summarizer
    beforeEach(async () => {
      summarizer = new Summarizer()
      stage = await makeStage({ ...ROUTE, windowTokens: WINDOW_TOKENS, summarize: summarizer.summarize })
    })
    afterEach(() => stage.dispose())

    const laws = new Set<string>()
    const play: Play = {
      get stage() {
        return stage
      },
      get engine() {
        return stage.engine
      },
      get summarizer() {
        return summarizer
      },
      law(title, body) {
        laws.add(title)
        const reason = skip[title]
        if (reason === undefined) it(title, body)
        else it.skip(`${title} (${reason})`, body)
      },
      everyEntry(title, entries, body) {
        for (const entry of entries) play.law(`${entry.name}: ${title}`, () => body(entry))
      },
      run: (entry, agent, signal = never()) => entry.run(stage.engine, agent, signal),
    }
    successLaws(play)
    refusalLaws(play)
    failureLaws(play)

    it('skips nothing that is no law of it', () => {
      expect(Object.keys(skip).filter(title => !laws.has(title))).toEqual([])
    })
  })
}
