/** Messages and requests in few words. */
import { Context } from '@deepseek-ai/cordis'
import Llm, { collect, type ContentBlock, type GenerateOptions, type LlmAdapter, type Message } from '@deepseek-ai/dsh-llm'

export const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })

export const says = (content: readonly ContentBlock[], by: { provider?: string; model?: string } = {}): Message => ({ role: 'assistant', content, ...by })

export const text = (words: string): ContentBlock => ({ type: 'text', text: words })

export const call = (id: string, args = '{"path":"a"}', name = 'read'): ContentBlock => ({ type: 'tool-call', id, name, arguments: args })

export const result = (toolCallId: string, content: string | readonly ContentBlock[], isError?: true): Message => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, content: typeof content === 'string' ? [text(content)] : content, ...(isError ? { isError } : {}) }],
})

export const READ = { name: 'read', description: 'Reads a file.', parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } }

export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const image: ContentBlock = { type: 'image', mediaType: 'image/png', data: PIXEL }

/** Through the service, as everybody asks; the route is left out of what it says. */
export async function ask(adapter: LlmAdapter, request: Partial<GenerateOptions> = {}) {
  const ctx = new Context()
  await ctx.plugin(Llm)
  ctx.llm.registerAdapter(adapter)
  const { provider: _, model: __, ...answer } = await collect(ctx.llm.stream(requestTo(adapter, request)))
  return answer
}

export function requestTo(adapter: LlmAdapter, request: Partial<GenerateOptions> = {}): GenerateOptions {
  return { provider: adapter.provider, model: 'm', messages: [user('Hi')], ...request }
}
