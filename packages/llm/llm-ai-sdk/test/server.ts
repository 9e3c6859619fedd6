/**
 * A provider on this machine: it answers every request by a script and remembers what it was sent.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'

export interface SeenRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** As it came. */
  readonly text: string
  readonly body: any
  /** Resolves when the connection of the request is closed, by whomever. */
  readonly closed: Promise<unknown>
}

export type Script = (response: ServerResponse, request: SeenRequest) => void | Promise<void>

export interface Server {
  readonly url: string
  readonly requests: SeenRequest[]
  /** The script of the next requests. */
  script: Script
  close(): Promise<void>
}

export async function startServer(script: Script = sse([])): Promise<Server> {
  const requests: SeenRequest[] = []
  const http = createServer((request, response) => void answer(request, response))
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const closed = once(response, 'close')
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += piece
    const seen: SeenRequest = { path: request.url!, headers: request.headers, text, body: JSON.parse(text), closed }
    requests.push(seen)
    await server.script(response, seen)
  }
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const server: Server = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`,
    requests,
    script,
    close: async () => {
      http.close()
      http.closeAllConnections()
    },
  }
  return server
}

/** Frames of an event stream: objects become data, strings are sent as they are; then the end, unless told otherwise. */
export function sse(frames: readonly (object | string)[], then: 'end' | 'hang' | 'cut' = 'end'): Script {
  return async response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    for (const frame of frames) {
      const named = typeof frame === 'object' && 'type' in frame ? `event: ${String(frame.type)}\n` : ''
      await new Promise(sent => response.write(typeof frame === 'string' ? frame : `${named}data: ${JSON.stringify(frame)}\n\n`, sent))
    }
    if (then === 'end') response.end()
    if (then === 'cut') response.destroy()
  }
}

export function json(status: number, body: object | string, headers: { [name: string]: string } = {}): Script {
  return response => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

const DONE = 'data: [DONE]\n\n'

/** Frames of chat completions. */
export function chat(...deltas: object[]): (object | string)[] {
  return deltas.map(delta => ({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'served', choices: [{ index: 0, delta, finish_reason: null }] }))
}

export function chatEnd(finish: string, usage?: object): (object | string)[] {
  return [
    { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'served', choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    ...(usage === undefined ? [] : [{ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'served', choices: [], usage }]),
    DONE,
  ]
}
