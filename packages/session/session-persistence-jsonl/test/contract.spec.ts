import { sessionPersistenceContract } from '@deepseek-ai/dsh-session-persistence/contract'
import { join } from 'node:path'
import { copyOf, storageIn, temporaryFolder } from './folder.ts'

sessionPersistenceContract('jsonl', async () => {
  const root = temporaryFolder()
  const dir = join(root, 'not', 'there', 'yet')
  const { storage } = storageIn(dir)
  return {
    storage,
    crash: async () => storageIn(join(copyOf(root), 'not', 'there', 'yet')).storage,
    dispose: () => storage.close(),
  }
})
