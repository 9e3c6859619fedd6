/**
 * OpenAI shape: a request as a chat-completions wire would carry it, so that anybody can judge it without knowing our types.
 *
 * Pure. Reasoning does not travel, images travel without their pixels unless they are asked for, and a call's arguments are
 * always JSON.
 */
import { callsOf, textOf, type ContentBlock, type GenerateOptions, type ImageBlock, type Message, type ToolCallBlock, type ToolSchema } from '@deepseek-ai/dsh-llm'

export type OpenAiPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

export interface OpenAiCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface OpenAiMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** Null for an assistant message that only calls tools. */
  readonly content: string | readonly OpenAiPart[] | null
  readonly tool_calls?: readonly OpenAiCall[]
  readonly tool_call_id?: string
}

export interface OpenAiTool {
  readonly type: 'function'
  readonly function: ToolSchema
}

export function openAiTools(tools: readonly ToolSchema[]): OpenAiTool[] {
  return tools.map(tool => ({ type: 'function', function: tool }))
}

/** Where an image is to be had. */
export type ImageUrl = (image: ImageBlock) => string

const withoutPixels: ImageUrl = ({ ref, mediaType }) => ref ?? `data:${mediaType};omitted`
export const withPixels: ImageUrl = ({ ref, mediaType, data = '' }) => ref ?? `data:${mediaType};base64,${data}`

/** The system prompt, where there is one, then every message that has something to say. */
export function openAiMessages({ system, messages }: Pick<GenerateOptions, 'system' | 'messages'>, imageUrl?: ImageUrl): OpenAiMessage[] {
  const shaped = messages.map(message => openAiMessage(message, imageUrl)).filter(message => message !== null)
  return system === undefined || system === '' ? shaped : [{ role: 'system', content: system }, ...shaped]
}

/** Null for an assistant message left without text and calls: no wire takes it. */
export function openAiMessage(message: Message, imageUrl = withoutPixels): OpenAiMessage | null {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: openAiContent(message.content, imageUrl) }
    case 'assistant': {
      const text = textOf(message.content)
      const calls = callsOf(message.content).map(openAiCall)
      if (calls.length > 0) return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls }
      return text.trim() === '' ? null : { role: 'assistant', content: text }
    }
    case 'tool': {
      const result = message.content.find(block => block.type === 'tool-result')
      return { role: 'tool', tool_call_id: result?.toolCallId ?? '', content: openAiContent(result?.content ?? [], imageUrl) }
    }
  }
}

function openAiContent(blocks: readonly ContentBlock[], imageUrl: ImageUrl): string | OpenAiPart[] {
  const parts = blocks.flatMap(block => openAiPart(block, imageUrl))
  const [first] = parts
  if (first === undefined) return ''
  return parts.length === 1 && first.type === 'text' ? first.text : parts
}

function openAiPart(block: ContentBlock, imageUrl: ImageUrl): OpenAiPart[] {
  if (block.type === 'text') return [{ type: 'text', text: block.text }]
  if (block.type !== 'image') return []
  return [{ type: 'image_url', image_url: { url: imageUrl(block) } }]
}

function openAiCall({ id, name, arguments: given }: ToolCallBlock): OpenAiCall {
  return { id, type: 'function', function: { name, arguments: jsonArguments(given) } }
}

/** What the model wrote where that is JSON; nothing means no arguments, and any other text is wrapped. */
function jsonArguments(given: string): string {
  if (given.trim() === '') return '{}'
  try {
    JSON.parse(given)
    return given
  } catch {
    return JSON.stringify({ input: given })
  }
}
