export { ToolResultPruner, ToolResultPruner as default, type PruneOptions, type ShortenOptions } from './service.ts'
export type { PrunerConfig } from './config.ts'
export type { Rewritten, RewriteOutcome } from './prune.ts'
