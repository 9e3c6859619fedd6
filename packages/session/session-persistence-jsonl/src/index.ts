export { JsonlSessionPersistence, JsonlSessionPersistence as default, type JsonlSessionPersistenceConfig } from './service.ts'
export { readSessionFile, writeSessionFile, type SessionFile } from './session-file.ts'
export { salvageSessionFile, type Salvage } from './salvage.ts'
export { sessionsFolder } from './folder.ts'
