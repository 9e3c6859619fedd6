export { isGranted } from './grants.ts'
export { PermissionService, PermissionService as default, type Answer, type Asker } from './service.ts'
