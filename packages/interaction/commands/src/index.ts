export * from './command.ts'
export { parseCommand, type CommandLine } from './line.ts'
export { CommandService, CommandService as default } from './service.ts'
