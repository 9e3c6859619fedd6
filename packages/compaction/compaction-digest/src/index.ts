export { DigestCompactionEngine, DigestCompactionEngine as default } from './service.ts'
