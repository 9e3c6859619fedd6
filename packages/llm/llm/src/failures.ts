/**
 * Failures of providers: whatever a provider said becomes one {@link LlmFailure}.
 *
 * Pure. One list of rules, first match wins: aborts, then the status, then typed codes, then words. Only 400, 404, 413, 422
 * and an error without a status are asked whether they are an overflow; an outage that speaks of context windows is an outage.
 */
import { answerOf, type Answer, type ProviderError } from './answer.ts'
import type { LlmFailure } from './errors.ts'
import { OVERFLOW_CODES, OVERFLOW_WORDS, OVERFLOWS_CALLED_RATES, plain, sizesOf, type Rule } from './overflow.ts'

const ENDED_BY_CALLER: readonly Rule[] = [
  { name: 'abort, typed', failure: 'ABORTED', codes: /^(AbortError|ABORT_ERR|ERR_CANCELED|APIUserAbortError|CancelledError|CanceledError)$/ },
  { name: 'abort', failure: 'ABORTED', words: /context cancell?ed|(operation|request) was (aborted|cancell?ed)|cancell?ed by (the )?(user|client|caller)/i },
  { name: 'deadline, typed', failure: 'TIMEOUT', codes: /^(TimeoutError|ETIMEDOUT|UND_ERR_\w*TIMEOUT|API(Connection)?TimeoutError|DEADLINE_EXCEEDED|timeout_error)$/i },
  { name: 'deadline', failure: 'TIMEOUT', words: /deadline exceeded|request timed out|^timeout\b/i },
]

const QUOTA = /quota|insufficient (credits?|balance|funds)|usage limit/i

const STATUSES: readonly Rule[] = [
  { name: 'paid', failure: 'QUOTA', status: /^402$/ },
  { name: 'quota, typed', failure: 'QUOTA', status: /^(403|429)$/, codes: /quota|insufficient|billing|usage_limit/i },
  { name: 'quota', failure: 'QUOTA', status: /^(403|429)$/, words: QUOTA },
  { name: 'auth', failure: 'AUTH', status: /^40[13]$/ },
  { name: 'rate', failure: 'RATE_LIMIT', status: /^429$/ },
  { name: 'time', failure: 'TIMEOUT', status: /^(408|504)$/ },
  { name: 'outage', failure: 'SERVER', status: /^5/ },
  { name: 'no overflow has this status', failure: 'INVALID_REQUEST', status: /^4(?!00|04|13|22)/ },
]

const CODES: readonly Rule[] = [
  { name: 'rate, typed', failure: 'RATE_LIMIT', codes: /^(rate_?limit\w*|Throttl\w*|RESOURCE_EXHAUSTED|too_many_requests)$/i },
  { name: 'quota, typed', failure: 'QUOTA', codes: /^(insufficient_(quota|balance|credits?)|billing_\w+|usage_limit\w*|payment_required)$/i },
  { name: 'auth, typed', failure: 'AUTH', codes: /^(authentication_?error|invalid_api_key|permission_?(denied_?)?(error)?|unauthenticated|unauthorized|AccessDeniedException)$/i },
  { name: 'outage, typed', failure: 'SERVER', status: /^0$/, codes: /^(overloaded\w*|api_error|server_error|internal_(server_)?error|InternalServer(Error|Exception)|Service_?Unavailable\w*|UNAVAILABLE|INTERNAL)$/i },
  { name: 'transport, typed', failure: 'TRANSPORT', codes: /^(ECONN\w+|EPIPE|ENOTFOUND|EAI_AGAIN|UND_ERR_SOCKET|APIConnectionError)$/ },
  { name: 'filter, typed', failure: 'CONTENT_FILTER', codes: /^(content_filter|content_policy_violation|ResponsibleAIPolicyViolation)$/ },
  { name: 'parameter, typed', failure: 'INVALID_REQUEST', codes: /^string_above_max_length$/ },
]

/** Words that come close to an overflow and are none. The output asked for alone is too much: OUTPUT_LIMIT, cured by asking for less. */
const COMPLAINTS: readonly Rule[] = [
  {
    name: 'output cap',
    failure: 'OUTPUT_LIMIT',
    words: /max_tokens: .{1,40} maximum allowed number of output tokens|max_(completion_)?tokens.? is too large|invalid max_tokens value|maxOutputTokens value of|too many tokens: max tokens must be|range of max_tokens should be/i,
  },
  { name: 'parameter', failure: 'INVALID_REQUEST', words: /string too long/i },
  { name: 'one image', failure: 'INVALID_REQUEST', words: /image exceeds .{1,20} maximum/i },
  { name: 'history', failure: 'INVALID_REQUEST', words: /ids were found without .{0,3}tool_result|thought.?signature|thinking.{1,40} cannot be modified/i },
  { name: 'quota', failure: 'QUOTA', words: QUOTA },
  { name: 'rate', failure: 'RATE_LIMIT', words: /rate limit|too many requests|throttl|too many tokens, please wait|tokens per (min|day)/i },
]

const REST: readonly Rule[] = [
  { name: 'bytes', failure: 'REQUEST_TOO_LARGE', status: /^413$/ },
  { name: 'refused', failure: 'INVALID_REQUEST', status: /^4/ },
  { name: 'refused, typed', failure: 'INVALID_REQUEST', codes: /^(invalid_request_error|INVALID_ARGUMENT|ValidationException|BadRequest(Error)?|not_found_error)$/i },
  { name: 'transport', failure: 'TRANSPORT', words: /^fetch failed$|socket hang up|connection (error|reset|closed)/i },
]

const RULES: readonly Rule[] = [
  ...ENDED_BY_CALLER, ...OVERFLOWS_CALLED_RATES, ...STATUSES, ...OVERFLOW_CODES, ...CODES, ...COMPLAINTS, ...OVERFLOW_WORDS, ...REST,
]

/** One failure for any error of a provider. Sizes are given for overflows of tokens alone. */
export function classifyFailure(error: ProviderError): LlmFailure {
  const answer = answerOf(error)
  const rule = RULES.find(candidate => holds(candidate, answer))
  const code = rule?.failure ?? 'UNKNOWN'
  const saying = answer.texts.find(text => rule?.words?.test(plain(text)))
  const message = saying ?? answer.texts.at(-1) ?? answer.codes[0] ?? 'the provider said nothing'
  return {
    code,
    message,
    ...(answer.status === undefined ? {} : { status: answer.status }),
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    ...(code === 'CONTEXT_WINDOW_EXCEEDED' ? sizesOf(answer) : {}),
  }
}

function holds(rule: Rule, answer: Answer): boolean {
  const status = answer.status === undefined || answer.status < 400 ? 0 : answer.status
  if (rule.status !== undefined && !rule.status.test(String(status))) return false
  if (rule.codes !== undefined && !answer.codes.some(code => rule.codes!.test(code))) return false
  if (rule.words !== undefined && !answer.texts.some(text => rule.words!.test(plain(text)))) return false
  if (rule.empty && !answer.empty) return false
  if (rule.oversized) {
    const { limitTokens, requestedTokens } = sizesOf(answer)
    return limitTokens !== undefined && requestedTokens !== undefined && requestedTokens > limitTokens
  }
  return true
}
