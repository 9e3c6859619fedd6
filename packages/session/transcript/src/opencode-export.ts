/**
 * opencode: what `opencode export` writes, `{info, messages: [{info, parts}]}`; a call's part holds its result too.
 *
 * Pure. Each step of the model is an answer; a message nearly always has one. A compaction is a message of the user that asks
 * for it, and an answer marked as `summary`; from there on the model sees that answer in place of everything before it.
 */
import type { ContentBlock, TokenUsage } from '@deepseek-ai/dsh-llm'
import { callBlock, reasoningBlock, textBlock, type AnswerDraft, type TranscriptBuilder } from './builder.ts'
import { chatFinish } from './chat.ts'
import type { DocumentFormat } from './format.ts'
import { imageFromUrl } from './images.ts'
import { arrayAt, isObject, numberAt, objectAt, stringAt, type JsonObject } from './json.ts'
import { tokenUsage } from './usage.ts'

export const opencodeExport: DocumentFormat = {
  name: 'opencode-export',
  expected: 'an opencode export (an object with info and messages that each have info with a role, and parts)',

  objection(document) {
    if (!isObject(document) || !isObject(document.info)) return { message: 1, found: 'no info' }
    const messages = arrayAt(document, 'messages')
    const index = messages.findIndex(message => !isObject(message) || stringAt(objectAt(message, 'info') ?? {}, 'role') === undefined)
    if (messages.length > 0 && index < 0) return null
    return { message: index < 0 ? 1 : index + 1, found: messages.length === 0 ? 'no message' : 'no info with a role' }
  },

  read(document, builder) {
    for (const [index, message] of (arrayAt(document as JsonObject, 'messages') as JsonObject[]).entries()) {
      const info = objectAt(message, 'info') ?? {}
      const parts = arrayAt(message, 'parts').filter(isObject)
      if (info.role === 'user') readInput(builder, parts, index + 1)
      else if (info.role === 'assistant') readAnswer(builder, info, parts, index + 1)
      else builder.skip(`message of role ${String(info.role)}`, index + 1)
    }
    return builder.finish()
  },
}

/** Synthetic texts are the tool's: what it read for the person, or what it told the model to do. */
function readInput(builder: TranscriptBuilder, parts: readonly JsonObject[], line: number): void {
  let content: ContentBlock[] = []
  let from: 'person' | 'context' = 'person'
  const give = () => {
    if (content.length > 0) builder.input(content, from, line)
    content = []
  }
  for (const part of parts) {
    const block = inputBlock(builder, part, line)
    if (block === null) continue
    const source = part.synthetic === true ? 'context' : 'person'
    if (source !== from) give()
    from = source
    content.push(block)
  }
  give()
}

function inputBlock(builder: TranscriptBuilder, part: JsonObject, line: number): ContentBlock | null {
  const mediaType = stringAt(part, 'mime') ?? ''
  if (part.type === 'text' && part.ignored !== true) return textBlock(stringAt(part, 'text') ?? '')
  if (part.type === 'file' && mediaType.startsWith('image/')) return imageFromUrl(stringAt(part, 'url') ?? '')
  if (part.type !== 'compaction') builder.skip(`part of a user's message of type ${String(part.type)}${mediaType === '' ? '' : ` ${mediaType}`}`, line)
  return null
}

function readAnswer(builder: TranscriptBuilder, info: JsonObject, parts: readonly JsonObject[], line: number): void {
  if (info.summary === true) return readSummary(builder, info, parts, line)
  const model = stringAt(info, 'modelID')
  const finish = chatFinish(stringAt(info, 'finish')?.replace('-', '_'))
  const stopped = isObject(info.error)
  const steps = stepsOf(parts)
  for (const step of steps) {
    const answer = builder.answer({ content: step.flatMap(part => answerBlocks(builder, part, line)), line, model, finish: steps.length > 1 ? undefined : finish })
    const measured = step.find(({ type }) => type === 'step-finish') ?? (steps.length > 1 ? {} : info)
    answer.usage = usageOf(objectAt(measured, 'tokens'))
    for (const part of step) readResult(builder, answer, part, line)
    if (stopped && step === steps.at(-1)) answer.interrupted = true
  }
  if (stopped) builder.skip('error that ended an answer', line)
}

/** Parts, parted where a step begins. */
function stepsOf(parts: readonly JsonObject[]): JsonObject[][] {
  const steps: JsonObject[][] = [[]]
  for (const part of parts) {
    if (part.type === 'step-start' && steps.at(-1)!.length > 0) steps.push([])
    steps.at(-1)!.push(part)
  }
  return steps
}

function readSummary(builder: TranscriptBuilder, info: JsonObject, parts: readonly JsonObject[], line: number): void {
  const content = parts.flatMap(part => (part.type === 'text' ? [textBlock(stringAt(part, 'text') ?? '')] : []))
  builder.compaction({ content, keptFrom: null, tokensBefore: undefined, line })
  if (usageOf(objectAt(info, 'tokens')) !== undefined) builder.skip('usage of a request for a summary', line)
}

function answerBlocks(builder: TranscriptBuilder, part: JsonObject, line: number): ContentBlock[] {
  switch (part.type) {
    case 'text':
      return [textBlock(stringAt(part, 'text') ?? '')]
    case 'reasoning':
      if (isObject(part.metadata)) builder.skip('encrypted reasoning or signature of a reasoning', line)
      return [reasoningBlock(stringAt(part, 'text') ?? '')]
    case 'tool':
      return [callBlock(stringAt(part, 'callID'), stringAt(part, 'tool'), objectAt(part, 'state')?.input)]
    case 'step-start':
    case 'step-finish':
      return []
    default:
      builder.skip(`part of an answer of type ${String(part.type)}`, line)
      return []
  }
}

/** A call that is pending or running has no result. */
function readResult(builder: TranscriptBuilder, answer: AnswerDraft, part: JsonObject, line: number): void {
  const state = objectAt(part, 'state')
  if (part.type !== 'tool' || state === undefined || (state.status !== 'completed' && state.status !== 'error')) return
  const failed = state.status === 'error'
  const images = arrayAt(state, 'attachments').flatMap(file => {
    const mediaType = isObject(file) ? (stringAt(file, 'mime') ?? '') : ''
    if (isObject(file) && mediaType.startsWith('image/')) return [imageFromUrl(stringAt(file, 'url') ?? '')]
    builder.skip(`attachment of a tool result of type ${mediaType}`, line)
    return []
  })
  builder.result(stringAt(part, 'callID') ?? '', [textBlock(stringAt(state, failed ? 'error' : 'output') ?? ''), ...images], failed, line)
  if (objectAt(state, 'time')?.compacted !== undefined) builder.skip('tool result that was cleared later, when it was recorded', answer.line)
}

/** `input` excludes what was read from a cache or written to it; `output` includes the reasoning. */
function usageOf(tokens: JsonObject | undefined): TokenUsage | undefined {
  if (tokens === undefined) return undefined
  const cache = objectAt(tokens, 'cache') ?? {}
  return tokenUsage({
    input: numberAt(tokens, 'input') ?? 0,
    cacheRead: numberAt(cache, 'read'),
    cacheWrite: numberAt(cache, 'write'),
    output: numberAt(tokens, 'output'),
    reasoning: numberAt(tokens, 'reasoning'),
  })
}
