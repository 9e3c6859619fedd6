export { SessionPersistence } from './service.ts'
export { SessionPersistenceError, type SessionPersistenceErrorCode } from './errors.ts'
export { checkSessionId } from './ids.ts'
