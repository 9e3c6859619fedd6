/**
 * Cache marks: up to where a request asks Anthropic to keep its prefix, four places at most.
 *
 *     system ▪ · user · assistant · tool ▪ · assistant · tool ▪ · user ▪
 *
 * Pure. A mark writes an entry that ends there and finds the entries that earlier requests wrote there. So:
 *
 * - the end of the system prompt, which covers the tools too (without a system prompt the last tool): what every request shares;
 * - the last message: what the next request will find;
 * - the message before it, if no answer stands between: a directive put behind the conversation, such as the summarizer's,
 *   or a message that joined the results, follows directly what the last request wrote, and finds it there;
 * - the last message before the newest answer: where the last ordinary request ended, so that its entry is found at once,
 *   however many blocks its answer and the results have added (the provider itself looks back 20 blocks only).
 */
import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'

const MARK: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

export interface Marked {
  readonly prompt: LanguageModelV4Prompt
  readonly tools: LanguageModelV4FunctionTool[]
}

export function withCacheMarks(prompt: LanguageModelV4Prompt, tools: readonly LanguageModelV4FunctionTool[]): Marked {
  const marks = marksOf(prompt)
  const hasSystem = prompt[0]?.role === 'system'
  return {
    prompt: prompt.map((message, index) => (marks.has(index) ? { ...message, providerOptions: MARK } : message)),
    tools: tools.map((tool, index) => (!hasSystem && index === tools.length - 1 ? { ...tool, providerOptions: MARK } : tool)),
  }
}

/** The marked messages, by their index. */
function marksOf(prompt: LanguageModelV4Prompt): ReadonlySet<number> {
  const isInput = (index: number) => prompt[index]?.role === 'user' || prompt[index]?.role === 'tool'
  const marks = new Set<number>()
  if (prompt[0]?.role === 'system') marks.add(0)
  const last = prompt.findLastIndex((_, index) => isInput(index))
  if (last < 0) return marks
  marks.add(last)
  if (isInput(last - 1)) marks.add(last - 1)
  const answer = prompt.findLastIndex(({ role }, index) => role === 'assistant' && index < last)
  const before = prompt.findLastIndex((_, index) => index < answer && isInput(index))
  if (before >= 0) marks.add(before)
  return marks
}
