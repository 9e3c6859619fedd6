export { ShellTool as default } from './service.ts'
