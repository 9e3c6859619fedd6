/**
 * `/compact` through a real context: what it says for every way a compaction can go.
 */
import { Context } from '@deepseek-ai/cordis'
import AgentService, { type Agent } from '@deepseek-ai/dsh-agent'
import CommandService from '@deepseek-ai/dsh-commands'
import BasicCompactionEngine from '@deepseek-ai/dsh-compaction-basic'
import { underInvariants } from '@deepseek-ai/dsh-invariants/testing'
import LlmService, { ScriptedAdapter, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import SessionService, { Session, type EventSink } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import { describe, expect, it } from 'vitest'
import CompactCommand from '../src/index.ts'

interface Harness {
  readonly ctx: Context
  readonly agent: Agent
  readonly session: Session
  readonly model: ScriptedAdapter
  /** What `/compact` and the rest of its line say. */
  compact(args?: string, signal?: AbortSignal): Promise<string>
}

interface HarnessInit {
  readonly summary?: ScriptedReply
  readonly sink?: EventSink
  /** Messages of a person, each long enough to be worth compacting. */
  readonly messages?: number
}

const SUMMARY = `## Current Work\n${'The parser is being rewritten. '.repeat(10)}`

async function harness({ summary = SUMMARY, sink, messages = 4 }: HarnessInit = {}): Promise<Harness> {
  const ctx = new Context()
  const { guard } = await underInvariants(ctx)
  for (const plugin of [SessionService, LlmService, TokenMeterService, AgentService, BasicCompactionEngine, CommandService, CompactCommand]) await ctx.plugin(plugin)
  const model = new ScriptedAdapter({ replies: () => summary })
  ctx.llm.registerAdapter(model)
  const session = new Session({ header: { id: 's', createdAt: 0 }, guard, ...(sink && { sink }) })
  for (let index = 0; index < messages; index++) say(session, `message ${index} ${'and some more words of it '.repeat(200)}`)
  const agent = ctx.agents.create(session, { provider: 'scripted', model: 'm' })
  return {
    ctx, agent, session, model,
    async compact(args = '', signal) {
      const outcome = await ctx.commands.execute(`/compact${args}`, agent, signal)
      return 'text' in outcome ? outcome.text : outcome.error
    },
  }
}

function say(session: Session, text: string): void {
  session.append('user/message', { content: [{ type: 'text', text }], source: { kind: 'user' } }, { surfaceOp: 'append' })
}

/** A sink that fails where it is told to. */
function failing(fails: { readonly append?: string; readonly flush?: boolean }): EventSink {
  return {
    append: ({ type }) => {
      if (type === fails.append) throw new Error('disk full')
    },
    flush: async () => {
      if (fails.flush === true) throw new Error('disk full')
    },
  }
}

const typesOf = (session: Session) => [...session.log.from(0)].map(({ type }) => type)

describe('what it says', () => {
  it('of a compaction: entries shadowed, tokens before and after', async () => {
    const { compact, session } = await harness()
    const text = await compact()
    const [, entries, before, after] = /^Compacted (\d+) entries: about ([\d,]+) → ([\d,]+) tokens\.$/.exec(text) ?? []
    expect(Number(entries)).toBe(3)
    expect(Number(after!.replace(',', ''))).toBeLessThan(Number(before!.replace(',', '')))
    expect(session.surface.entries).toHaveLength(2)
    expect(typesOf(session).slice(4)).toEqual(['command/run', 'compaction/start', 'compaction/summary', 'user/message', 'compaction/end', 'command/done'])
    expectReplays(session)
  })

  it('when there is nothing to compact: nothing else happens', async () => {
    const { compact, session, model } = await harness({ messages: 1 })
    expect(await compact()).toBe('Nothing to compact yet.')
    expect(typesOf(session)).toEqual(['user/message', 'command/run', 'command/done'])
    expect(model.requests).toEqual([])
  })

  it('of an argument: the usage, and the engine is not asked', async () => {
    const { compact, session, model } = await harness()
    expect(await compact(' everything')).toBe('Usage: /compact (it takes no argument)')
    expect(typesOf(session).slice(4)).toEqual(['command/run', 'command/done'])
    expect(model.requests).toEqual([])
  })

  it('while the agent works', async () => {
    const { compact, agent, session } = await harness()
    const { promise, resolve } = Promise.withResolvers<void>()
    const working = agent.runMaintenance(() => promise)
    expect(await compact()).toBe('The agent is working. Compact once it is idle.')
    resolve()
    await working
    expect(typesOf(session)).not.toContain('compaction/start')
  })

  it('while another compaction runs', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const { compact } = await harness({ summary: () => promise })
    const first = compact()
    expect(await compact()).toBe('Another compaction of this conversation is running. Wait until it has ended.')
    resolve(SUMMARY)
    expect(await first).toMatch(/^Compacted 3 entries/)
  })

  it('when the agent is cancelled, or whoever asked gives up', async () => {
    for (const cancel of ['agent', 'caller'] as const) {
      const controller = new AbortController()
      const { compact, agent, session } = await harness({
        summary: async () => {
          if (cancel === 'agent') agent.cancel('Escape')
          else controller.abort(new Error('Escape'))
          return SUMMARY
        },
      })
      const said = { agent: 'The compaction was cancelled. The conversation is as it was.', caller: '/compact was cancelled' }
      expect(await compact('', controller.signal)).toBe(said[cancel])
      expect(session.surface.entries).toHaveLength(4)
      expect(typesOf(session).slice(4)).toEqual(['command/run', 'compaction/start', 'compaction/end', 'command/done'])
    }
  })

  it('when the conversation changed meanwhile', async () => {
    const { compact, session } = await harness({
      summary: async () => {
        session.append('user/message', { content: [{ type: 'text', text: 'in its place' }], source: { kind: 'context' } }, {
          surfaceOp: { op: 'replace', start: 0, end: 0 }, sourceEventSeqs: [0],
        })
        return SUMMARY
      },
    })
    expect(await compact()).toBe('The conversation changed while its summary was written, so nothing was compacted. Try again.')
  })

  it.each<[string, ScriptedReply, RegExp]>([
    ['fails', { failure: { code: 'AUTH', message: 'the key is not valid' } }, /^No summary that would help could be made \(.*the key is not valid.*\)\. The conversation is as it was\.$/],
    ['is larger than what it would replace', '## Current Work\n'.repeat(4_000), /^No summary that would help could be made \(.*\)\. The conversation is as it was\.$/],
  ])('when the summary %s', async (_title, summary, said) => {
    const { compact, session } = await harness({ summary })
    expect(await compact()).toMatch(said)
    expect(session.surface.entries).toHaveLength(4)
  })

  it('when the log does not take the checkpoint', async () => {
    const { compact, session } = await harness({ sink: failing({ append: 'compaction/summary' }) })
    expect(await compact()).toBe('The compaction could not be written to the log (disk full). Reopen the session before you try again.')
    expect(session.surface.entries).toHaveLength(4)
  })

  it('when what was compacted could not be made durable', async () => {
    const { compact, session } = await harness({ sink: failing({ flush: true }) })
    expect(await compact()).toMatch(/^The conversation was compacted, but that is not safely on disk yet \(.*disk full.*\)\.$/)
    expect(session.surface.entries).toHaveLength(2)
  })
})

it('is listed while it is loaded, waits for its services, and goes with them', async () => {
  const ctx = new Context()
  const command = ctx.plugin(CompactCommand)
  for (const plugin of [SessionService, AgentService, LlmService, TokenMeterService, CommandService]) await ctx.plugin(plugin)
  expect(ctx.commands.list()).toEqual([])
  const engine = await ctx.plugin(BasicCompactionEngine)
  await command.await()
  expect(ctx.commands.list().map(({ name }) => name)).toEqual(['compact'])
  await engine.dispose()
  expect(ctx.commands.list()).toEqual([])
})
