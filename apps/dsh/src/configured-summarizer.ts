/**
 * Configured summarizer: the model that the environment names writes the checkpoints of a conversation that it does not answer.
 */
import type { Context } from '@deepseek-ai/cordis'
import BasicCompactionEngine from '@deepseek-ai/dsh-compaction-basic'
import aiSdk from '@deepseek-ai/dsh-llm-ai-sdk'
import deepseek from '@deepseek-ai/dsh-llm-deepseek'
import { chooseModel } from './choose-model.ts'
import { UsageError } from './exit.ts'
import { MODEL_VARIABLES, variableLines } from './variables.ts'

/** @throws UsageError, saying which variables are understood, when none names a model. */
export async function loadConfiguredSummarizer(ctx: Context): Promise<void> {
  await ctx.plugin(deepseek, {})
  await ctx.plugin(aiSdk, {})
  const choice = chooseModel({ env: process.env['DSH_MODEL'], providers: ctx.llm.list() })
  if ('refusal' in choice) throw new UsageError(`--summarizer model needs a model: ${choice.refusal}. These variables are understood:\n${variableLines(MODEL_VARIABLES, () => '  ').join('\n')}`)
  const { provider, model } = choice.route
  process.stderr.write(`dsh: ${provider}/${model} writes the checkpoints: ${choice.why}\n`)
  await ctx.plugin(BasicCompactionEngine, { summarizationProvider: provider, summarizationModel: model })
}
