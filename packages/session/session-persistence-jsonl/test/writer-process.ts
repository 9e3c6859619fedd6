/**
 * A process that opens and closes sessions of the folder in its first argument. It does what each line of stdin says
 * (`open ID`, `close ID`) and answers each with one line of JSON: `{ ok: true }`, or code and message of the error.
 */
import { createInterface } from 'node:readline'
import type { SessionStore } from '@deepseek-ai/dsh-session'
import { JsonlStorage } from '../src/storage.ts'

const storage = new JsonlStorage(process.argv[2]!, problem => process.stderr.write(`${problem}\n`))
const stores = new Map<string, SessionStore>()

async function obey(act: string, id: string): Promise<void> {
  if (act === 'open') stores.set(id, await storage.open(id))
  else await stores.get(id)!.close()
}

for await (const line of createInterface({ input: process.stdin })) {
  const [act, id] = line.split(' ') as [string, string]
  const answer = await obey(act, id).then(() => ({ ok: true }), (error: { code?: string; message: string }) => ({ code: error.code, message: error.message }))
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
