export type { PermissionAnswer, PermissionRequest, Tool, ToolContext, ToolOutcome, ToolParameters, ToolReturn } from './tool.ts'
export { toolsInvariant } from './invariant.ts'
export { ToolService, ToolService as default, type PermissionEvent, type ToolOutput } from './service.ts'
