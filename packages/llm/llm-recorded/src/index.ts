export * from './answers.ts'
export * from './adapter.ts'
export { recorded as default } from './plugin.ts'
