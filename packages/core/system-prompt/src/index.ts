export { SystemPromptService, SystemPromptService as default, type PromptSection } from './service.ts'
