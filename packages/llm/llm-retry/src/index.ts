export { rowOf, type Row } from './row.ts'
export { LlmRetry, LlmRetry as default, type RetriesSpent, type RetryWait } from './service.ts'
