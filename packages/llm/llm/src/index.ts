export * from './content.ts'
export * from './errors.ts'
