/**
 * `node test/provider/main.ts [--script NAME] [--window TOKENS] [--port N]`: the provider as a process of its own. Its first line
 * on stdout is JSON, `{"url", "control"}`; it runs until it is told to end.
 */
import { parseArgs } from 'node:util'
import { queued, startControl, type Queues } from './control.ts'
import { SCRIPTS } from './scripts.ts'
import { startProvider } from './server.ts'

const { values } = parseArgs({ options: { script: { type: 'string', default: 'echo' }, window: { type: 'string' }, port: { type: 'string', default: '0' } } })
const script = SCRIPTS[values.script]
if (script === undefined) {
  console.error(`no such script: ${values.script}; there are ${Object.keys(SCRIPTS).join(', ')}`)
  process.exit(2)
}
const queues: Queues = { answers: [], summaries: [] }
const provider = await startProvider({
  script: queued(queues, script()),
  port: Number(values.port),
  ...(values.window === undefined ? {} : { window: { tokens: Number(values.window) } }),
})
const control = await startControl(provider, queues)
process.once('SIGTERM', () => void Promise.all([provider.close(), control.close()]))
console.log(JSON.stringify({ url: provider.url, control: control.url }))
