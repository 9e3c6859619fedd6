export type { Tool, ToolContext, ToolOutcome, ToolParameters, ToolReturn } from './tool.ts'
export { toolsInvariant } from './invariant.ts'
export { ToolService, ToolService as default } from './service.ts'
