/**
 * Prompt: our messages as an AI SDK prompt.
 *
 *     user · assistant(call 1, call 2) · tool(1) · tool(2) · user
 *     → user · assistant(call 1, call 2) · tool(1, 2) · user
 *
 * Pure, and stable: a message serializes to the same bytes whatever follows it, as long as no call is left open, so that a
 * provider's prefix cache stays warm.
 */
import type {
  LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4TextPart, LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { ContentBlock, ImageBlock, Message, ProviderMetadata, ToolResultBlock } from '@deepseek-ai/dsh-llm'
import { CallIds } from './call-ids.ts'
import type { Dialect } from './dialect.ts'

export interface PromptInput {
  readonly provider: string
  readonly model: string
  readonly system?: string
  readonly messages: readonly Message[]
  readonly dialect: Pick<Dialect, 'imagesInResults' | 'errorResults' | 'callId'>
  /** Whether the model is known not to read images; it is then told that there was one. */
  readonly blind: boolean
}

export interface Prompt {
  readonly prompt: LanguageModelV4Prompt
  /** How many blocks of each type were left out because no provider knows them. */
  readonly leftOut: { readonly [type: string]: number }
}

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content']

/** What a model reads in place of an image that it cannot be shown. */
const UNSEEN_IMAGE = '[image]'

export function promptOf(input: PromptInput): Prompt {
  const { dialect } = input
  const prompt: LanguageModelV4Prompt = []
  const leftOut: { [type: string]: number } = {}
  const leaveOut = (block: { readonly type: string }) => {
    leftOut[block.type] = (leftOut[block.type] ?? 0) + 1
  }
  const toolNames = new Map<string, string>()
  const callIds = new CallIds(dialect.callId)
  let results: LanguageModelV4ToolResultPart[] = []
  let imagesOfResults: LanguageModelV4FilePart[] = []
  const endResults = () => {
    if (results.length > 0) prompt.push({ role: 'tool', content: results })
    if (imagesOfResults.length > 0) prompt.push({ role: 'user', content: imagesOfResults })
    results = []
    imagesOfResults = []
  }
  const seen = (blocks: readonly ContentBlock[]) => blocks.flatMap(block => seenPart(block, input.blind, leaveOut))

  if (input.system !== undefined && input.system !== '') prompt.push({ role: 'system', content: input.system })
  for (const message of input.messages) {
    if (message.role === 'tool') {
      for (const block of message.content) {
        if (block.type !== 'tool-result') {
          leaveOut(block)
          continue
        }
        const { part, images } = resultPart(block, seen(block.content), toolNames.get(block.toolCallId) ?? 'unknown', callIds, dialect)
        results.push(part)
        imagesOfResults.push(...images)
      }
      continue
    }
    endResults()
    if (message.role === 'user') {
      const content: UserContent = seen(message.content)
      if (content.length > 0) prompt.push({ role: 'user', content })
      continue
    }
    for (const block of message.content) if (block.type === 'tool-call') toolNames.set(block.id, block.name)
    const content = assistantContent(message, input, callIds, leaveOut)
    if (content.some(part => part.type !== 'reasoning')) prompt.push({ role: 'assistant', content })
  }
  endResults()
  return { prompt, leftOut }
}

/** Metadata and reasoning go back only to the route that made them. */
function assistantContent(message: Message, input: PromptInput, callIds: CallIds, leaveOut: (block: ContentBlock) => void): AssistantContent {
  const isOwn = message.provider === input.provider && message.model === input.model
  const options = (metadata: ProviderMetadata | undefined) => (isOwn && metadata !== undefined ? { providerOptions: metadata as SharedV4ProviderOptions } : {})
  return message.content.flatMap((block): AssistantContent => {
    switch (block.type) {
      case 'text':
        // A text of nothing may carry a signature that its maker wants back.
        return isBlank(block.text) && !(isOwn && block.providerMetadata) ? [] : [{ type: 'text', text: block.text, ...options(block.providerMetadata) }]
      case 'reasoning':
        return isOwn ? [{ type: 'reasoning', text: block.text, ...options(block.providerMetadata) }] : []
      case 'tool-call': {
        const { id, name } = block
        return [{ type: 'tool-call', toolCallId: callIds.ofCall(id), toolName: name, input: objectText(block.arguments), ...options(block.providerMetadata) }]
      }
      case 'image':
        return [{ type: 'text', text: UNSEEN_IMAGE }]
      default:
        leaveOut(block)
        return []
    }
  })
}

/** Arguments that are an object go as the model wrote them, byte for byte; anything else a wire would refuse is wrapped. */
function objectText(text: string): string {
  if (isBlank(text)) return '{}'
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text
  } catch {}
  return JSON.stringify({ invalidArguments: text })
}

/** A block of a user's message or of a tool's result. */
function seenPart(block: ContentBlock, blind: boolean, leaveOut: (block: ContentBlock) => void): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  if (block.type === 'text') return isBlank(block.text) ? [] : [{ type: 'text', text: block.text }]
  if (block.type === 'image') return [(blind ? undefined : filePart(block)) ?? { type: 'text', text: UNSEEN_IMAGE }]
  leaveOut(block)
  return []
}

/** Undefined for an image that stands nowhere a provider could see it. */
function filePart({ mediaType, data, ref }: ImageBlock): LanguageModelV4FilePart | undefined {
  if (data !== undefined) return { type: 'file', mediaType, data: { type: 'data', data } }
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(ref ?? '')
  if (inline !== null) return { type: 'file', mediaType: inline[1]!, data: { type: 'data', data: inline[2]! } }
  if (ref !== undefined && /^https?:/.test(ref) && URL.canParse(ref)) return { type: 'file', mediaType, data: { type: 'url', url: new URL(ref) } }
  return undefined
}

function resultPart(
  { toolCallId, isError }: ToolResultBlock,
  parts: (LanguageModelV4TextPart | LanguageModelV4FilePart)[],
  toolName: string,
  callIds: CallIds,
  { imagesInResults, errorResults }: PromptInput['dialect'],
): { part: LanguageModelV4ToolResultPart; images: LanguageModelV4FilePart[] } {
  const images = parts.filter(part => part.type === 'file')
  const base = { type: 'tool-result' as const, toolCallId: callIds.ofResult(toolCallId), toolName }
  if (images.length > 0 && imagesInResults) return { part: { ...base, output: { type: 'content', value: parts } }, images: [] }
  const value = parts.map(part => (part.type === 'text' ? part.text : UNSEEN_IMAGE)).join('\n')
  return { part: { ...base, output: { type: isError && errorResults ? 'error-text' : 'text', value } }, images }
}

/** Some providers refuse texts of white space alone, and none can do anything with them. */
function isBlank(text: string): boolean {
  return text.trim() === ''
}
