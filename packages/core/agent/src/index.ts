export * from './inbox.ts'
export {
  Cancelled,
  type Agent,
  type AgentDriver,
  type AgentOptions,
  type AgentStatus,
  type PreStepEvent,
  type PreStepResult,
  type RequestEvent,
  type RequestErrorEvent,
  type RequestErrorResult,
  type StepInput,
} from './agent.ts'
export { AgentService, AgentService as default } from './service.ts'
