export { guardOf, InvariantViolationError } from './guard.ts'
export { InvariantService, InvariantService as default } from './service.ts'
