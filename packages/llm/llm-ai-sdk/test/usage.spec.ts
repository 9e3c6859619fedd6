import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import { promptTokens } from '@deepseek-ai/dsh-llm'
import { expect, it } from 'vitest'
import { usageOf } from '../src/index.ts'

type Counts = Partial<LanguageModelV4Usage['inputTokens'] & { output: number; reasoning: number }>

const read = ({ output, reasoning, ...input }: Counts) => usageOf({
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined, ...input },
  outputTokens: { total: output, text: undefined, reasoning },
})

it.each<[string, Counts, number, number, object]>([
  ['cached tokens within the prompt', { total: 100, cacheRead: 60, output: 20 }, 100, 20, { inputTokens: 40, cacheReadTokens: 60 }],
  ['cached tokens beside the prompt', { total: 40, cacheRead: 60, output: 20 }, 100, 20, { inputTokens: 40, cacheReadTokens: 60 }],
  ['reads and writes', { total: 100, cacheRead: 60, cacheWrite: 30, output: 20 }, 100, 20, { inputTokens: 10, cacheReadTokens: 60, cacheWriteTokens: 30 }],
  ['no total', { noCache: 40, cacheRead: 60, output: 20 }, 100, 20, { inputTokens: 40 }],
  ['all of it cached', { total: 100, cacheRead: 100, output: 1 }, 100, 1, { inputTokens: 0 }],
  ['reasoning within the output', { total: 1, output: 20, reasoning: 15 }, 1, 20, { reasoningTokens: 15 }],
  ['reasoning beside the output', { total: 1, output: 5, reasoning: 15 }, 1, 20, { reasoningTokens: 15 }],
])('%s', (_name, counts, prompt, output, expected) => {
  const usage = read(counts)!
  expect(promptTokens(usage)).toBe(prompt)
  expect(usage.outputTokens).toBe(output)
  expect(usage).toMatchObject(expected)
})

it('nothing reported is no usage, not a usage of nothing', () => {
  expect(read({})).toBeUndefined()
})
