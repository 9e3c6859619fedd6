import type { LlmFailureCode } from '../src/errors.ts'

/** One answer of a provider: the id of its kind, the status, the code, the words, and what it is with the sizes it names. */
export interface Wording {
  readonly id: string
  readonly status: number | undefined
  readonly code: string | number | undefined
  readonly text: string
  readonly failure: LlmFailureCode
  readonly limitTokens?: number
  readonly requestedTokens?: number
}

type Row = [id: string, status: number | undefined, code: string | number | undefined, text: string, limitTokens?: number, requestedTokens?: number]

function all(failure: LlmFailureCode, rows: readonly Row[]): Wording[] {
  return rows.map(([id, status, code, text, limitTokens, requestedTokens]) => ({
    id, status, code, text, failure,
    ...(limitTokens === undefined ? {} : { limitTokens }),
    ...(requestedTokens === undefined ? {} : { requestedTokens }),
  }))
}

const none = undefined
const invalid = 'invalid_request_error'
const typed = 'context_length_exceeded'
const openai1 = "This model's maximum context length is 16000 tokens. However, your messages resulted in 17250 tokens (16100 in the messages, 1150 in the functions). Please reduce the length of the messages or functions."
const openai2 = "This model's maximum context length is 16000 tokens. However, you requested 18500 tokens (12000 in the messages, 500 in the functions, and 6000 in the completion). Please reduce the length of the messages."
const openai4 = 'Your input exceeds the context window of this model. Please adjust your input and try again.'
const groq = (limit: number, requested: number) =>
  `Request too large for model \`some-model\` in organization \`org\` on tokens per minute (TPM): Limit ${limit}, Requested ${requested}, please reduce your message size and try again. Need more? Upgrade at https://example.test/settings/billing`

export const POSITIVES: readonly Wording[] = [
  ...all('CONTEXT_WINDOW_EXCEEDED', [
    ['E-ANT-1', 400, invalid, 'prompt is too long: 204500 tokens > 199000 maximum', 199_000, 204_500],
    ['E-ANT-2', 400, invalid, 'input length and `max_tokens` exceed context limit: 181000 + 24000 > 199000, decrease input length or `max_tokens` and try again', 199_000, 205_000],
    ['E-ANT-4', 200, 'model_context_window_exceeded', 'the answer ended'],
    ['E-ANT-5', 429, 'rate_limit_error', 'Extra usage is required for long context requests.'],
    ['E-VTX-1', 413, invalid, 'Prompt is too long'],
    ['E-BED-1', 400, 'ValidationException', 'The model returned the following errors: Input is too long for requested model.'],
    ['E-BED-1', 400, 'ValidationException', 'Input is too long for this model'],
    ['E-BED-2', 400, 'ValidationException', 'input token count exceeds the maximum number of input tokens'],
    ['E-BED-3', 400, none, 'The request payload size has exceed context limit.'],
    ['E-OAI-1', 400, typed, openai1, 16_000, 17_250],
    ['E-OAI-1', 400, none, openai1, 16_000, 17_250],
    ['E-OAI-2', 400, typed, openai2, 16_000, 18_500],
    ['E-OAI-2', none, none, openai2, 16_000, 18_500],
    ['E-OAI-3', 400, typed, 'Input tokens exceed the configured limit of 250000 tokens. Your messages resulted in 263400 tokens. Please reduce the length of the messages.', 250_000, 263_400],
    ['E-OAI-4', 400, typed, openai4],
    ['E-OAI-4', 200, none, openai4],
    ['E-OAI-5', 400, 'context_too_large', openai4],
    ['E-OAI-5', 400, 'invalid_request_body', openai4],
    ['E-OAI-6', none, none, 'The context window is full: the task ran out of room.'],
    ['E-OAI-6', none, none, "Codex ran out of space in the model's context window."],
    ['E-COP-1', 400, 'model_max_prompt_tokens_exceeded', 'prompt token count of 131500 exceeds the limit of 127000', 127_000, 131_500],
    ['E-GEM-1', 400, 'INVALID_ARGUMENT', 'The input token count (1200300) exceeds the maximum number of tokens allowed (1000000).', 1_000_000, 1_200_300],
    ['E-DS-1', 400, invalid, "This model's maximum context length is 64000 tokens. However, you requested 70500 tokens (62500 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.", 64_000, 70_500],
    ['E-XAI-1', 400, none, "This model's maximum prompt length is 130000 but the request contains 145600 tokens.", 130_000, 145_600],
    ['E-MIS-1', 400, none, 'Prompt contains 41000 tokens, too large for model with 32000 maximum context length', 32_000, 41_000],
    ['E-MIS-1', 400, none, 'Prompt contains 41000 tokens and 0 draft tokens, too large for model with 32000 maximum context length', 32_000, 41_000],
    ['E-CER-1', 400, none, '400 status code (no body)'],
    ['E-CER-1', 413, none, '413 status code (no body)'],
    ['E-CER-1', none, none, '413 status code (no body)'],
    ['E-CER-2', 400, none, 'Please reduce the length of the messages or completion. Current length is 34100 while limit is 32000', 32_000, 34_100],
    ['E-GRQ-1', 400, none, 'Please reduce the length of the messages or completion.'],
    ['E-GRQ-2', 413, 'rate_limit_exceeded', groq(6000, 7412), 6000, 7412],
    ['E-GRQ-2', 429, 'tokens', groq(12_000, 30_500), 12_000, 30_500],
    ['E-OR-1', 400, none, "This endpoint's maximum context length is 65000 tokens. However, you requested about 81300 tokens (70000 of text input, 1300 of tool input, 10000 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.", 65_000, 81_300],
    ['E-OR-2', 400, 400, openai1, 16_000, 17_250],
    ['E-OR-3', 400, none, 'Input length 140500 exceeds the maximum allowed input length of 128000 tokens.', 128_000, 140_500],
    ['E-TOG-1', 400, none, "The input (9300 tokens) is longer than the model's context length (8000 tokens).", 8000, 9300],
    ['E-TOG-2', 400, none, 'Input token count + max_tokens parameter must be less than the context length of the model being queried.'],
    ['E-FW-1', 400, invalid, 'The prompt is too long: 140200, model maximum context length: 131000', 131_000, 140_200],
    ['E-NIM-1', 400, 'Bad Request', openai1, 16_000, 17_250],
    ['E-VLLM-1', 400, 'BadRequestError', "This model's maximum context length is 40000 tokens. However, you requested 8000 output tokens and your prompt contains at least 33500 input tokens, for a total of at least 41500 tokens. Please reduce the length of the input prompt or the number of requested output tokens.", 40_000, 41_500],
    ['E-VLLM-2', 400, 'BadRequestError', "This model's maximum context length is 40000 tokens. However, your request has 41234 input tokens. Please reduce the length of the input messages.", 40_000, 41_234],
    ['E-VLLM-3', 400, none, "You passed 30100 input tokens and requested 4000 output tokens. However, the model's context length is only 32000 tokens, resulting in a maximum input length of 28000 tokens.", 32_000, 34_100],
    ['E-VLLM-4', 400, none, 'The decoder prompt (length 9100) is longer than the maximum model length of 8000', 8000, 9100],
    ['E-SGL-1', 400, none, 'Input length (33100 tokens) exceeds the maximum allowed length (32000 tokens).', 32_000, 33_100],
    ['E-SGL-2', 400, none, "Requested token count exceeds the model's maximum context length of 32000 tokens. You requested a total of 36000 tokens.", 32_000],
    ['E-SGL-2', 400, none, "Input length (33100) exceeds model's maximum context length (32000).", 32_000, 33_100],
    ['E-LCP-1', 400, 'exceed_context_size_error', 'request (9900 tokens) exceeds the available context size (8100 tokens), try increasing it', 8100, 9900],
    ['E-LCP-1', 400, none, 'the request exceeds the available context size. try increasing the context size or enable context shift'],
    ['E-LCP-2', 200, 400, 'request (9900 tokens) exceeds the available context size (8100 tokens), try increasing it', 8100, 9900],
    ['E-LCP-2', 200, none, 'Context size has been exceeded.'],
    ['E-LMS-1', 400, none, 'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9400 >= n_ctx: 4000). Try to load the model with a larger context length.', 4000],
    ['E-LMS-2', 400, none, 'Trying to keep the first 5200 tokens when context the overflows. However, the model is loaded with context length of only 4000 tokens, which is not enough.', 4000],
    ['E-LMS-3', none, none, 'Input length 5100 exceeds context length 4000', 4000, 5100],
    ['E-OLL-1', 400, none, 'prompt too long; exceeded context length by 1200 tokens'],
    ['E-OLL-1', 400, none, 'prompt too long; exceeded max context length by 1200 tokens'],
    ['E-OLL-2', 400, none, 'the input length exceeds the context length'],
    ['E-OLL-2', 400, none, 'the input length exceeds the context length of 4000', 4000],
    ['E-OLL-2', 400, none, 'context length exceeded, too many tokens'],
    ['E-QWEN-1', 400, 'invalid_parameter_error', 'Range of input length should be [1, 98000]', 98_000],
    ['E-KIMI-1', 400, none, 'Invalid request: Your request exceeded model token limit: 250000 (requested: 261700)', 250_000, 261_700],
    ['E-KIMI-1', 400, none, 'Your request exceeded model token limit: 250000 (requested: 261700)', 250_000, 261_700],
    ['E-ZAI-1', 400, '1261', 'Prompt exceeds max length'],
    ['E-ZAI-1', 400, none, 'Prompt exceeds max length'],
    ['E-ZAI-1', 400, none, 'Prompt too long'],
    ['E-ZAI-1', 400, none, 'Prompt 超长'],
    ['E-ZAI-2', 400, '1210', 'tokens in request more than max tokens allowed'],
    ['E-MM-1', 400, none, 'invalid params, context window exceeds limit (2013)'],
    ['E-MM-2', 200, 1039, 'token limit'],
    ['E-COH-1', 400, none, 'too many tokens: total number of tokens in the prompt cannot exceed 4000 - received 4700. Try using a shorter prompt.', 4000, 4700],
    ['E-COH-1', 400, none, 'too many tokens: total number of tokens in the prompt exceeds the limit of 4000', 4000],
    ['E-HF-1', 422, none, 'Input validation error: `inputs` must have less than 4000 tokens. Given: 5200', 4000, 5200],
    ['E-HF-1', 422, none, 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4000. Given: 3900 `inputs` tokens and 600 `max_new_tokens`', 4000, 4500],
    ['E-ARK-1', 400, 'InvalidParameter', 'Total tokens of image and text exceed max message tokens'],
    ['E-NOV-1', none, none, 'Token limit exceeded, please try again later.'],
    ['E-BAI-1', none, 336103, 'Prompt tokens too long'],
    ['E-BAI-1', none, none, 'Prompt tokens too long'],
    ['E-PAN-1', none, none, '超出了模型最大token限制。'],
    ['E-DS4-1', none, none, 'Prompt has 9000 tokens, but the configured context size is 8000 tokens', 8000, 9000],
    ['E-MLX-1', 400, none, 'Prompt exceeds maximum context length'],
    ['E-LIT-1', 400, none, `litellm.BadRequestError: litellm.ContextWindowExceededError: SomeException - ${openai1}`, 16_000, 17_250],
    ['E-LIT-1', 400, none, 'litellm.ContextWindowExceededError: the reason was lost'],
    ['E-DBX-1', 400, 'BAD_REQUEST', JSON.stringify({ external_model_error: { message: openai1 } }), 16_000, 17_250],
    ['E-GW-1', 400, none, 'Request too long: 52000 input tokens over the limit of 48000', 48_000, 52_000],
    ['E-GW-1', 404, none, 'Context limit is 48000 tokens; prompt=48100 leaves 0 output tokens available', 48_000, 48_100],
    ...['上下文过长', '上下文超出限制', '上下文长度超过限制', '超出最大上下文', '超过最大长度'].map((text): Row => ['E-GW-3', none, none, text]),
  ]),
  ...all('REQUEST_TOO_LARGE', [
    ['E-ANT-3', 413, 'request_too_large', 'Request exceeds the maximum size'],
    ['E-ANT-3', 413, none, 'Request exceeds the maximum allowed number of bytes'],
    ['E-GEM-2', 400, none, 'Request payload size exceeds the limit: 20000000 bytes.'],
    ['E-KIMI-2', 400, none, 'total message size 5200300 exceeds limit 4000000'],
    ['E-GW-2', 400, 'inference_failed', 'Payload too large'],
    ['E-GW-2', 413, none, 'Request body too large'],
    ['E-GW-2', 413, none, 'request entity too large'],
  ]),
]

export const NEGATIVES: readonly Wording[] = [
  ...all('RATE_LIMIT', [
    ['N-1', 429, none, 'Too many tokens, please wait before trying again.'],
    ['N-1', none, 'ThrottlingException', 'Too many tokens, please wait before trying again.'],
    ['N-1', 429, typed, 'prompt is too long: 204500 tokens > 199000 maximum'],
    ['N-2', 429, 'rate_limit_error', 'This request would exceed the rate limit of your organization of 40000 input tokens per minute.'],
    ['E-GRQ-2', 413, 'rate_limit_exceeded', groq(6000, 900)],
    ['E-GRQ-2', 429, 'rate_limit_exceeded', groq(6000, 6000)],
  ]),
  ...all('SERVER', [500, 502, 503, 529].map((status): Row => ['N-3', status, typed, openai1])),
  ...all('AUTH', [['N-3', 401, typed, openai1]]),
  ...all('OUTPUT_LIMIT', [
    ['N-4', 400, invalid, 'max_tokens: 70000 > 64000, which is the maximum allowed number of output tokens for some-model'],
    ['N-5', 400, 'invalid_value', 'max_tokens is too large: 50000. This model supports at most 16000 completion tokens, whereas you provided 50000.'],
    ['N-6', 400, invalid, 'Invalid max_tokens value, the valid range of max_tokens is [1, 8000]'],
    ['N-7', 400, 'INVALID_ARGUMENT', 'Unable to submit request because it has a maxOutputTokens value of 90000 but the supported range is from 1 (inclusive) to 65000 (exclusive).'],
    ['N-8', 400, 'BadRequestError', "'max_tokens' or 'max_completion_tokens' is too large: 30000. This model's maximum context length is 32000 tokens and your request has 4500 input tokens (30000 > 32000 - 4500)."],
    ['N-9', 400, none, 'too many tokens: max tokens must be less than or equal to 4000, the maximum output for this model'],
  ]),
  ...all('INVALID_REQUEST', [
    ['N-10', 400, 'string_above_max_length', "Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 90 instead."],
    ['N-11', 400, invalid, 'messages.3.content.1.image: image exceeds 5 MB maximum: 6100200 bytes > 5242880 bytes'],
    ['N-12', 400, invalid, 'messages.7: `tool_use` ids were found without `tool_result` blocks immediately after: call_1'],
    ['N-12', 400, 'INVALID_ARGUMENT', 'Function call is missing a thought_signature in functionCall parts.'],
    ['N-12', 400, invalid, '`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.'],
    ['N-13', 400, none, 'I cannot discuss how the context window of this model works.'],
    ['N-13', 400, none, 'notes.md:12: an overflow means that the context window is too small'],
  ]),
  ...all('ABORTED', [
    ['N-14', 400, none, `context canceled: ${openai1}`],
    ['N-14', none, 'AbortError', openai1],
  ]),
  ...all('TIMEOUT', [['N-14', none, none, `context deadline exceeded (last answer: ${openai1})`]]),
  ...all('QUOTA', [
    ['N-15', 429, 'insufficient_quota', 'You exceeded your current quota, please check your plan.'],
    ['N-15', 402, none, 'Insufficient credits: your prompt is too long for what is left'],
    ['N-15', 400, none, 'You have reached your usage limit for this month'],
  ]),
]
