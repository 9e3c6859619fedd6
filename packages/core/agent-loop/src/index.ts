export { loopInvariant } from './derivable.ts'
export { AgentLoop, AgentLoop as default } from './service.ts'
