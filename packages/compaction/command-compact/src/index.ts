export { CompactCommand, CompactCommand as default } from './service.ts'
