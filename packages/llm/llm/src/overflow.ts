/**
 * Overflow: whether what a provider said means that the request does not fit, and how large it said things are.
 *
 * Pure. One row a wording, named after who says it. Rows are tried in the order that `failures.ts` gives them, below the
 * complaints that quote a window without being an overflow.
 */
import type { Answer } from './answer.ts'
import { promptTokens, type FinishReason, type TokenUsage } from './content.ts'
import type { LlmFailureCode } from './errors.ts'

/** Every condition given must hold. */
export interface Rule {
  readonly name: string
  readonly failure: LlmFailureCode
  /** Of the status in digits; an answer without one, or with one below 400, is '0'. */
  readonly status?: RegExp
  /** Of any one code. */
  readonly codes?: RegExp
  /** Of any one text, white space collapsed. */
  readonly words?: RegExp
  /** Nothing was said at all. */
  readonly empty?: true
  /** The text must name sizes, and ask for more than its limit. */
  readonly oversized?: true
}

/** A wording; `#` stands for a number with or without thousands separators. */
function shape(pattern: string): RegExp {
  return new RegExp(pattern.replaceAll('#', String.raw`(\d{1,3}(?:[,._' \u00a0\u202f]\d{3})+(?!\d)|\d+)`), 'i')
}

function wordings(failure: LlmFailureCode, rows: Readonly<Record<string, string>>): Rule[] {
  return Object.entries(rows).map(([name, pattern]) => ({ name, failure, words: shape(pattern) }))
}

/** Called rate limits by their providers, though only a smaller request helps. */
export const OVERFLOWS_CALLED_RATES: readonly Rule[] = [
  { name: 'tier of long requests', failure: 'CONTEXT_WINDOW_EXCEEDED', status: /^(0|400|429)$/, words: /extra usage is required for long context requests/i },
  { name: 'larger than a minute', failure: 'CONTEXT_WINDOW_EXCEEDED', status: /^(0|400|413|429)$/, words: /request too large for .*tokens per min/i, oversized: true },
]

export const OVERFLOW_CODES: readonly Rule[] = [
  {
    name: 'typed',
    failure: 'CONTEXT_WINDOW_EXCEEDED',
    codes: /^(context_length_exceeded|context_too_large|model_context_window_exceeded|model_max_prompt_tokens_exceeded|exceed_context_size_error|Context(Window|Length)Exceeded(Error|Exception)?|1261|336103)$/i,
  },
  { name: 'MiniMax, in an answer', failure: 'CONTEXT_WINDOW_EXCEEDED', codes: /^1039$/, words: /token limit/i },
  { name: 'typed, bytes', failure: 'REQUEST_TOO_LARGE', codes: /^request_too_large$/i },
]

export const OVERFLOW_WORDS: readonly Rule[] = [
  ...wordings('CONTEXT_WINDOW_EXCEEDED', {
    'prompt too long (Anthropic, Vertex, Fireworks, Ollama, Z.ai)': 'prompt (?:is )?too long',
    'input and output (Anthropic)': 'input length and .?max_tokens.? exceed context limit',
    'input too long (Bedrock)': 'input is too long for (?:the )?(?:requested|this) model',
    'input token count (Bedrock, Gemini)': String.raw`input token count (?:\(#\) )?exceeds the maximum number of (?:input )?tokens`,
    'payload over context (Bedrock)': 'payload size has exceed(?:ed)? context limit',
    'maximum context length (OpenAI, DeepSeek, OpenRouter, NIM, vLLM)':
      'maximum context length is # tokens.{0,20} (?:your messages resulted in|you requested|your request has|your prompt contains)',
    'configured limit (OpenAI)': 'input tokens exceed the configured limit of #',
    'input over window (OpenAI Responses)': 'input exceeds the context window of this model',
    'ran out of window (Codex)': 'context window.{0,80}ran out of (?:room|space)|ran out of (?:room|space).{0,40}context window',
    'prompt token count (Copilot)': 'prompt token count of # exceeds the limit of #',
    'maximum prompt length (xAI)': 'maximum prompt length is # but the request contains #',
    'too large for model (Mistral)': 'too large for model with # maximum context length',
    'no body (Cerebras)': String.raw`\b4(?:00|13) status code \(no body\)`,
    'reduce the length (Cerebras, Groq)': 'please reduce the length of the messages or completion',
    'input length (OpenRouter, SGLang, LM Studio, Ollama)':
      String.raw`input length (?:\(?#(?: tokens)?\)? )?exceeds (?:the |model's |the model's )?(?:maximum (?:allowed|context)|context length)`,
    'longer than (Together, SGLang, vLLM)': "is longer than the (?:model's context length|maximum model length)",
    'input and output (Together)': String.raw`input token count \+ .?max_tokens.? parameter must be less than the context length`,
    'only (vLLM, LM Studio)': 'context length (?:is|of) only #',
    'requested token count (SGLang)': "requested token count exceeds the model's maximum context length",
    'context size (llama.cpp)': 'exceeds the available context size|context size has been exceeded',
    'tokens to keep (LM Studio)': 'tokens to keep from the initial prompt is greater than the context length',
    'context length exceeded (Ollama)': 'context length exceeded',
    'range of input (Qwen)': 'range of input length should be',
    'model token limit (Kimi)': 'exceeded model token limit',
    'max length (Z.ai)': 'prompt exceeds max length|prompt 超长',
    'tokens in request (Z.ai)': 'tokens in request more than max tokens allowed',
    'window exceeds limit (MiniMax)': 'context window exceeds limit',
    'too many tokens (Cohere)': 'too many tokens: total number of tokens in the prompt (?:cannot exceed|exceeds)',
    'inputs (TGI)': String.raw`inputs.? must have less than # tokens|inputs.? tokens \+ .?max_new_tokens.? must be <= #`,
    'message tokens (Ark)': 'total tokens of image and text exceed max message tokens',
    'token limit (Novita)': '(?:^|: ?|- )token limit exceeded',
    'prompt tokens (Baidu)': 'prompt tokens too long',
    'configured context (DS4)': 'prompt has # tokens, but the configured context size is #',
    'maximum context (mlx)': 'prompt exceeds maximum context length',
    'input tokens over (gateways)': 'request too long: # input tokens over the limit',
    'no output left (gateways)': 'context limit is # tokens; prompt=#',
    'Chinese (Pangu, gateways)': '超出了模型最大token限制|上下文过长|上下文超出|上下文长度超|超出最大上下文|超过最大长度',
  }),
  ...wordings('REQUEST_TOO_LARGE', {
    'bytes (Anthropic)': 'request exceeds the maximum size|maximum allowed number of bytes',
    'bytes (Vertex)': 'request payload size exceeds',
    'bytes (Kimi)': 'total message size # exceeds limit',
    'bytes (gateways)': 'payload too large|request (?:body|entity) (?:is )?too large',
  }),
  { name: 'empty (Cerebras)', failure: 'CONTEXT_WINDOW_EXCEEDED', status: /^4(00|13)$/, empty: true },
]

/** Tokens accepted, only where the words before or after say so; "exceeds limit (N)" of MiniMax is something else. */
const LIMITS = [
  'maximum (?:context|prompt) length (?:is|of) #',
  'maximum context length: #',
  '> # maximum',
  String.raw`context limit: # \+ # > (?<size>#)`,
  String.raw`maximum number of tokens allowed \(#\)`,
  'configured limit of #',
  'exceeds the limit of #',
  'limit (?<size>#), (?:used #, )?requested #',
  'while limit is #',
  'for model with # maximum context length',
  'maximum allowed input length of #',
  String.raw`(?:maximum allowed|model's context|model's maximum context) length \(#`,
  'context length is only #',
  'context length of only #',
  'exceeds (?:the )?context length (?:of )?#',
  'maximum model length of #',
  String.raw`available context size \(#`,
  'n_ctx: #',
  String.raw`range of input length should be \[\d+, ?#`,
  'model token limit: #',
  'prompt cannot exceed #',
  'must have less than # tokens',
  'must be <= #',
  'configured context size is #',
  'over the limit of #',
  'context limit is # tokens',
].map(shape)

/** Tokens asked for; two numbers are the sum of input and output. */
const REQUESTS = [
  'too long: # tokens >',
  String.raw`context limit: # \+ # >`,
  'messages resulted in #',
  String.raw`input token count \(#\)`,
  'prompt token count of #',
  'you requested(?: about)? # tokens',
  'for a total of at least #',
  'request has # input tokens',
  'the request contains #',
  'prompt contains # tokens',
  'current length is #',
  'limit (?:#), (?:used (?:#), )?requested (?<size>#)',
  String.raw`input length \(?#`,
  String.raw`the input \(# tokens\)`,
  'prompt is too long: #, model',
  'passed # input tokens and requested #',
  String.raw`decoder prompt \(length #`,
  String.raw`request \(# tokens\)`,
  String.raw`\(requested: #\)`,
  'received #',
  'given: #(?: .?inputs.? tokens and #)?',
  'prompt has # tokens',
  'request too long: # input',
  'tokens; prompt=#',
].map(shape)

export interface Sizes {
  readonly limitTokens?: number
  readonly requestedTokens?: number
}

/** The sizes that texts and fields name, each by its first named pattern. */
export function sizesOf(answer: Answer): Sizes {
  const limitTokens = answer.counts.n_ctx ?? firstSize(LIMITS, answer.texts)
  const requestedTokens = answer.counts.n_prompt_tokens ?? firstSize(REQUESTS, answer.texts)
  return { ...(limitTokens ? { limitTokens } : {}), ...(requestedTokens ? { requestedTokens } : {}) }
}

function firstSize(patterns: readonly RegExp[], texts: readonly string[]): number | undefined {
  for (const text of texts) {
    for (const pattern of patterns) {
      const match = pattern.exec(plain(text))
      if (match === null) continue
      const named = match.groups?.['size']
      const numbers = named === undefined ? match.slice(1).filter(part => part !== undefined) : [named]
      return numbers.reduce((sum, digits) => sum + Number(digits.replace(/\D/g, '')), 0)
    }
  }
  return undefined
}

/** A text as the patterns see it: white space collapsed, no backslashes, straight quotes. */
export function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('\\', '').replaceAll('’', "'")
}

/** How near to the window counts as full. */
const FULL_RATIO = 0.99
/** By how much an estimate may be wrong without anything having happened to the request. */
const CUT_RATIO = 1.5
const CUMULATIVE_RATIO = 2

/**
 * Whether an answer that came without an error shows that its request did not fit: more prompt than window; an answer
 * that ended where the window did; or a prompt that was counted after the server had cut it, which only `estimateTokens`
 * can tell. `estimateTokens` is the whole request as it was sent, envelope included.
 *
 * An adapter that sums cache reads over several requests reports more than any window. With an estimate such a sum is told
 * from an overflow; without one it is not, and counts as an overflow. Not decidable here either: a server whose own window
 * is smaller than `contextWindow`, and windows that do not hold the output (`outputInWindow: false`), where an answer
 * ended by its own limit may look like a full window.
 */
export function isSilentOverflow(answer: {
  readonly usage: TokenUsage
  readonly finish: FinishReason
  /** Tokens. */
  readonly contextWindow: number
  readonly estimateTokens?: number
}): boolean {
  const { usage, finish, contextWindow, estimateTokens } = answer
  const prompt = promptTokens(usage)
  const cached = usage.cacheReadTokens ?? 0
  if (cached > 0 && prompt - cached <= contextWindow && estimateTokens !== undefined && estimateTokens <= contextWindow) {
    if (prompt > estimateTokens * CUMULATIVE_RATIO) return false
  }
  if (prompt > contextWindow) return true
  if (finish === 'max-tokens' && prompt + usage.outputTokens >= FULL_RATIO * contextWindow) return true
  return estimateTokens !== undefined && estimateTokens > contextWindow && prompt > 0 && prompt * CUT_RATIO <= estimateTokens
}
