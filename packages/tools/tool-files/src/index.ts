export { FileTools as default } from './service.ts'
