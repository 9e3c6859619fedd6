/**
 * Where random histories are played: one context for all of them, since an engine keeps nothing of a session but what its
 * log says, and a model that answers as the history wants.
 */
import { Context } from '@deepseek-ai/cordis'
import ToolResultPruner from '@deepseek-ai/dsh-compaction-tool-result-pruner'
import LlmService, { ScriptedAdapter, type GenerateOptions, type ModelInfo, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import { BasicCompactionEngine, summarizeByDigest, type BasicCompactionConfig, type Rung, type Summary, type SummaryInput } from '../src/index.ts'
import { EagerEngine } from './harness.ts'

/** Windows so small that a dozen messages fill them. `narrow` only summarizes. */
export const MODELS = {
  small: { contextWindow: 3_000 }, tiny: { contextWindow: 1_200 }, outside: { contextWindow: 2_000, outputInWindow: false }, unknown: {}, narrow: { contextWindow: 700 },
} satisfies Record<string, ModelInfo>

class HastyEngine extends EagerEngine {
  /** Whoever is slow is given up at the first idle moment. */
  protected override readonly idleMs: number = 1
}

class DigestEngine extends BasicCompactionEngine {
  protected override async summarize(input: SummaryInput): Promise<Summary> {
    return summarizeByDigest(input, this.estimateText)
  }
}

interface StageInit {
  readonly engine: typeof BasicCompactionEngine
  readonly config: NonNullable<BasicCompactionConfig> & { readonly compactionRetries: number }
  readonly prunes: boolean
}

const NARROW = { summarizationProvider: 'scripted', summarizationModel: 'narrow' }

const STAGES: readonly StageInit[] = [
  { engine: HastyEngine, config: { thresholdRatio: 0.6, compactionRetries: 2 }, prunes: false },
  { engine: HastyEngine, config: { compactionRetries: 1, maxOverflowRetries: 2 }, prunes: true },
  { engine: HastyEngine, config: { ...NARROW, thresholdRatio: 0.5, compactionRetries: 0 }, prunes: false },
  { engine: HastyEngine, config: { retainTokens: 200, maxTokens: 200, thresholdRatio: 0.5, compactionRetries: 3 }, prunes: true },
  { engine: DigestEngine, config: { thresholdRatio: 0.6, compactionRetries: 2 }, prunes: false },
]

export class Stage {
  readonly ctx = new Context()
  readonly prunes: boolean
  /** Deeper rounds of one check. */
  readonly retries: number
  private readonly config: StageInit['config']
  readonly rungs: Rung[] = []
  /** The model; replaced for every check. */
  answer: (request: GenerateOptions) => ScriptedReply | Promise<ScriptedReply> = () => 'unused'

  private constructor({ config, prunes }: StageInit) {
    this.config = config
    this.retries = config.compactionRetries
    this.prunes = prunes
  }

  /** The retained budget under a window of so many tokens. */
  retainTokens(windowTokens: number): number {
    return this.config.retainTokens ?? Math.floor(windowTokens * 0.16)
  }

  static async openAll(): Promise<Stage[]> {
    return Promise.all(STAGES.map(async init => {
      const stage = new Stage(init)
      const { ctx } = stage
      ctx.logger.exporter({ levels: { default: 0 }, export: () => {} })
      await ctx.plugin(LlmService)
      await ctx.plugin(TokenMeterService)
      if (init.prunes) await ctx.plugin(ToolResultPruner, { thresholdChars: 400, headChars: 100, tailChars: 60 })
      await ctx.plugin(init.engine, init.config)
      ctx.on('compaction/rung', (_session, rung) => void stage.rungs.push(rung))
      ctx.llm.registerAdapter(new ScriptedAdapter({ models: MODELS, replies: request => stage.answer(request) }))
      return stage
    }))
  }
}
