/**
 * Dialects: what the families of providers want differently, beyond what their AI SDK packages translate.
 *
 * Pure.
 */
import type { JSONObject, LanguageModelV4ToolChoice } from '@ai-sdk/provider'
import type { GenerateOptions, ToolChoice } from '@deepseek-ai/dsh-llm'

export interface Dialect {
  /** Whether a tool result may hold images; otherwise they follow the results in a message of the user. */
  readonly imagesInResults: boolean
  /** Whether a result can be marked as a failure beside its text; otherwise its words alone say so. */
  readonly errorResults: boolean
  /** Whether the prompt cache works by markers in the request. */
  readonly cacheMarks: boolean
  /** Whether a tool's schema is kept to strictly, which some providers do by themselves and thereby make every argument required. */
  readonly strictTools?: false
  /** Whether a request must say how long its answer may be. */
  readonly needsLimit: boolean
  /** A call id as the wire accepts it; ids of another provider may come by, and two may become one. */
  callId(id: string): string
  toolChoice(choice: ToolChoice): LanguageModelV4ToolChoice | undefined
  /** What a request carries beyond its prompt, under the names of provider options. */
  providerOptions(request: GenerateOptions): { [name: string]: JSONObject }
}

const asItIs = (id: string) => id

function anyChoice(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name }
}

export const OPENAI_COMPATIBLE: Dialect = {
  imagesInResults: false,
  errorResults: false,
  cacheMarks: false,
  needsLimit: false,
  callId: asItIs,
  toolChoice: anyChoice,
  providerOptions: () => ({}),
}

export const ANTHROPIC: Dialect = {
  imagesInResults: true,
  errorResults: true,
  cacheMarks: true,
  needsLimit: true,
  callId: id => id.replace(/[^a-zA-Z0-9_-]/g, '_'),
  /** Another tool choice than in the request before empties the cache of all messages, so `none` is left to the words of the request. */
  toolChoice: choice => (choice === 'none' ? undefined : anyChoice(choice)),
  providerOptions: () => ({}),
}

/** Nothing is stored there: reasoning comes back encrypted and is sent back, and one key keeps a session on one cache. */
export const OPENAI: Dialect = {
  imagesInResults: true,
  errorResults: false,
  cacheMarks: false,
  strictTools: false,
  needsLimit: false,
  callId: id => id.slice(0, 64),
  toolChoice: anyChoice,
  providerOptions: ({ sessionId }) => ({ openai: { store: false, ...(sessionId === undefined ? {} : { promptCacheKey: sessionId }) } }),
}

export const GOOGLE: Dialect = {
  imagesInResults: true,
  errorResults: true,
  cacheMarks: false,
  needsLimit: false,
  callId: asItIs,
  toolChoice: anyChoice,
  providerOptions: () => ({}),
}
