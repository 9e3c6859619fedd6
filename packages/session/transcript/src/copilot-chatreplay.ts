/**
 * VS Code's chat replay: prompts, each with log entries; a request holds all messages that were sent, and its response only the
 * text of the answer.
 *
 * Pure. The conversation is what each request adds to the one before. The answer to a request is read where it stands whole, at
 * the begin of what the next one adds; after the last, it is the response, with the calls that the log has after it. A request
 * whose older messages are other ones begins another conversation.
 *
 *     request 1: s u                 → a
 *     request 2: s u │ a(call) r     → b
 *     request 3: s u   a(call) r │ b u → …
 *
 * A place is the 1-based number of a log entry, counted through all prompts.
 */
import { textOf } from '@deepseek-ai/dsh-llm'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { callBlock, textBlock, type AnswerDraft, type TranscriptBuilder } from './builder.ts'
import { chatTools } from './chat.ts'
import type { DocumentFormat } from './format.ts'
import { imageFromUrl } from './images.ts'
import { arrayAt, isObject, objectAt, stringAt, type JsonObject } from './json.ts'
import { chatUsage } from './usage.ts'
import { inputAround } from './words.ts'

const SYSTEM = 0
const USER = 1
const ASSISTANT = 2
const TOOL = 3

const TEXT_PART = 1
const IMAGE_PART = 2
/** Marks what the provider shall cache. */
const CACHE_PART = 3

export const copilotChatreplay: DocumentFormat = {
  name: 'copilot-chatreplay',
  expected: 'a chat replay of VS Code (an object with prompts that each have logs)',

  objection(document) {
    if (!isObject(document) || !Array.isArray(document.prompts)) return { message: 1, found: 'no prompts' }
    const index = document.prompts.findIndex(prompt => !isObject(prompt) || !Array.isArray(prompt.logs))
    if (document.prompts.length > 0 && index < 0) return null
    return index < 0 ? { message: 1, found: 'no prompt' } : { message: index + 1, found: 'no prompt with logs' }
  },

  read(document, builder) {
    const reader = new Reader(builder)
    let line = 0
    for (const prompt of arrayAt(document as JsonObject, 'prompts').filter(isObject)) {
      for (const entry of arrayAt(prompt, 'logs')) reader.entry(isObject(entry) ? entry : {}, stringAt(prompt, 'prompt') ?? '', (line += 1))
    }
    reader.answer([])
    return builder.finish()
  },
}

interface Asked {
  readonly request: JsonObject
  readonly line: number
  /** What the log says was called since. */
  readonly calls: JsonObject[]
}

class Reader {
  private readonly builder: TranscriptBuilder
  private asked: Asked | null = null
  /** Of the messages sent, without the system's: those that are items already. */
  private readonly told: string[] = []

  constructor(builder: TranscriptBuilder) {
    this.builder = builder
  }

  entry(entry: JsonObject, prompt: string, line: number): void {
    if (entry.kind === 'request') this.request(entry, prompt, line)
    else if (entry.kind === 'toolCall' && this.asked !== null) this.asked.calls.push(entry)
    else this.builder.skip(`log entry of kind ${String(entry.kind)}`, line)
  }

  /** Answers the last request; gives the messages that follow the answer. */
  answer(added: readonly JsonObject[]): readonly JsonObject[] {
    const { asked, builder } = this
    if (asked === null) return added
    this.asked = null
    const { request, line, calls } = asked
    const metadata = objectAt(request, 'metadata') ?? {}
    const model = stringAt(metadata, 'model')
    const whole = added[0]?.role === ASSISTANT ? added[0] : null
    let answer: AnswerDraft
    if (whole !== null) {
      this.told.push(keyOf(whole))
      answer = builder.answer({ content: this.answerBlocks(whole, line), line, model })
    } else {
      const said = arrayAt(objectAt(request, 'response') ?? {}, 'message').filter(text => typeof text === 'string')
      answer = builder.answer({ content: [...said.map(textBlock), ...calls.map(call => callBlock(stringAt(call, 'id'), stringAt(call, 'tool'), call.args))], line, model })
      for (const call of calls) builder.result(stringAt(call, 'id') ?? '', resultBlocks(call.response), false, line)
    }
    answer.usage = chatUsage(objectAt(metadata, 'usage'))
    return whole === null ? added : added.slice(1)
  }

  private request(request: JsonObject, prompt: string, line: number): void {
    const sent = arrayAt(objectAt(request, 'requestMessages') ?? {}, 'messages').filter(isObject)
    const messages = sent.filter(({ role }) => role !== SYSTEM)
    this.envelope(sent.filter(({ role }) => role === SYSTEM), arrayAt(objectAt(request, 'metadata') ?? {}, 'tools'), line)
    if (this.told.some((key, index) => messages[index] === undefined || keyOf(messages[index]) !== key)) {
      this.answer([])
      this.told.length = 0
      this.builder.beginConversation(line)
    }
    for (const message of this.answer(messages.slice(this.told.length))) {
      this.told.push(keyOf(message))
      this.message(message, prompt, line)
    }
    this.asked = { request, line, calls: [] }
  }

  private message(message: JsonObject, prompt: string, line: number): void {
    const { builder } = this
    const content = this.blocks(message.content, line)
    switch (message.role) {
      case USER:
        if (content.every(({ type }) => type === 'text')) inputAround(builder, textOf(content), wordsIn(textOf(content)) ?? prompt, line)
        else builder.input(content, 'person', line)
        return
      case ASSISTANT:
        builder.answer({ content: this.answerBlocks(message, line), line })
        return
      case TOOL:
        builder.result(stringAt(message, 'toolCallId') ?? '', content, false, line)
        return
      default:
        builder.skip(`message of role ${String(message.role)}`, line)
    }
  }

  private envelope(messages: readonly JsonObject[], given: readonly unknown[], line: number): void {
    const system = messages.map(message => textOf(this.blocks(message.content, line))).join('\n\n')
    this.builder.envelope({ system, tools: chatTools(this.builder, given) }, line)
  }

  private answerBlocks(message: JsonObject, line: number): ContentBlock[] {
    const calls = arrayAt(message, 'toolCalls').filter(isObject)
    return [
      ...this.blocks(message.content, line),
      ...calls.map(call => callBlock(stringAt(call, 'id'), stringAt(objectAt(call, 'function') ?? {}, 'name'), objectAt(call, 'function')?.arguments)),
    ]
  }

  private blocks(content: unknown, line: number): ContentBlock[] {
    if (typeof content === 'string') return [textBlock(content)]
    return (Array.isArray(content) ? content.filter(isObject) : []).flatMap((part): ContentBlock[] => {
      const url = stringAt(objectAt(part, 'imageUrl') ?? {}, 'url')
      if (part.type === TEXT_PART) return [textBlock(stringAt(part, 'text') ?? '')]
      if (part.type === IMAGE_PART && url !== undefined) return [imageFromUrl(url)]
      if (part.type !== CACHE_PART) this.builder.skip(`content part of type ${String(part.type)}`, line)
      return []
    })
  }
}

/** The person's share of a message, where the tool marks it. */
function wordsIn(text: string): string | undefined {
  return /<userRequest>\n([^]*?)\n?<\/userRequest>/.exec(text)?.[1]
}

/** What makes two messages the same: everything but the cache marks. */
function keyOf(message: JsonObject): string {
  const parts = Array.isArray(message.content) ? message.content.filter(part => isObject(part) && part.type !== CACHE_PART) : message.content
  return JSON.stringify([message.role, parts, message.toolCalls, message.toolCallId])
}

function resultBlocks(response: unknown): ContentBlock[] {
  const texts = Array.isArray(response) ? response : [response]
  return texts.filter(text => typeof text === 'string').map(textBlock)
}
