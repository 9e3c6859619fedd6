/**
 * Control: another process steers a provider over HTTP.
 *
 * `GET /served` the requests and what became of them · `GET /waiting` the gates before which answers wait ·
 * `POST /release?gate=NAME` lets one pass · `POST /answers` a JSON list of answers that come before those of the script ·
 * `POST /summaries` the same for requests that ask for a summary.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asksForSummary, type Answer, type Script } from './script.ts'
import type { Provider } from './server.ts'

/** Answers that were given in advance. */
export interface Queues {
  readonly answers: Answer[]
  readonly summaries: Answer[]
}

/** What was given in advance first, then the script. */
export function queued(queues: Queues, script: Script): Script {
  return request => (asksForSummary(request) ? queues.summaries : queues.answers).shift() ?? script(request)
}

export interface Control {
  readonly url: string
  close(): Promise<void>
}

export async function startControl(provider: Provider, queues: Queues): Promise<Control> {
  const server = createServer((incoming, response) => {
    const say = (status: number, value: unknown): void => void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    respond(incoming).then(value => (value === undefined ? say(404, 'no such thing') : say(200, value)), (error: unknown) => say(400, String(error)))
  })

  async function respond(incoming: IncomingMessage): Promise<unknown> {
    const { pathname, searchParams } = new URL(incoming.url!, 'http://control')
    switch (`${incoming.method} ${pathname}`) {
      case 'GET /served':
        return provider.served.map(({ request, ...figures }) => ({ index: request.index, asksForSummary: asksForSummary(request), ...figures }))
      case 'GET /waiting':
        return provider.gates.waiting()
      case 'POST /release':
        provider.gates.release(searchParams.get('gate') ?? '')
        return true
      case 'POST /answers':
        return queues.answers.push(...(await listOf(incoming)))
      case 'POST /summaries':
        return queues.summaries.push(...(await listOf(incoming)))
      default:
        return undefined
    }
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise(done => server.close(done))
      server.closeAllConnections()
      await closed
    },
  }
}

async function listOf(incoming: IncomingMessage): Promise<Answer[]> {
  incoming.setEncoding('utf8')
  let text = ''
  for await (const piece of incoming) text += piece as string
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list)) throw new SyntaxError('a list of answers is expected')
  return list as Answer[]
}
