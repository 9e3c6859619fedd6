export { AgentLoop, AgentLoop as default } from './service.ts'
