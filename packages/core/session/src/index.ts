export * from './events.ts'
export * from './fold.ts'
