/**
 * Kimi, the context: what the model is shown, one chat message a line, between records of the tool whose role begins with `_`.
 *
 * Pure. A `_usage` before an answer counts the prompt of its request, one behind it the prompt and the answer together.
 */
import { textOf } from '@deepseek-ai/dsh-llm'
import type { AnswerDraft, TranscriptBuilder } from './builder.ts'
import { chatAnswer, chatContent } from './chat.ts'
import type { LinesFormat } from './format.ts'
import { numberAt, stringAt, type JsonObject } from './json.ts'
import { tokenUsage } from './usage.ts'

export const kimiContext: LinesFormat = {
  name: 'kimi-context',
  expected: 'a Kimi context (JSON Lines beginning with {"role":"_system_prompt"|"_checkpoint"|"_usage",…})',

  claims({ value }) {
    return stringAt(value, 'role')?.startsWith('_') === true ? 'yes' : 'no'
  },

  read(lines, builder) {
    const reader = new Reader(builder)
    for (const { line, value } of lines) reader.message(value, line)
    return builder.finish()
  },
}

class Reader {
  private readonly builder: TranscriptBuilder
  /** Counted since the last message, with its line. */
  private prompt: { readonly tokens: number; readonly line: number } | null = null
  /** The last message, where it is an answer whose prompt was counted. */
  private measured: AnswerDraft | null = null

  constructor(builder: TranscriptBuilder) {
    this.builder = builder
  }

  message(message: JsonObject, line: number): void {
    switch (message.role) {
      case '_system_prompt':
        return this.builder.envelope({ system: stringAt(message, 'content') }, line)
      case '_usage':
        return this.usage(numberAt(message, 'token_count') ?? 0, line)
      case 'assistant':
        return this.answer(message, line)
      case 'user':
      case 'tool':
        this.forgetUsage()
        return this.given(message, line)
      default:
        this.builder.skip(`record of role ${String(message.role)}`, line)
    }
  }

  private answer(message: JsonObject, line: number): void {
    const answer = chatAnswer(this.builder, message, line, {})
    answer.usage = this.prompt === null ? undefined : tokenUsage({ input: this.prompt.tokens })
    this.measured = answer.usage === undefined ? null : answer
    this.prompt = null
  }

  private given(message: JsonObject, line: number): void {
    const content = chatContent(this.builder, message.content, line)
    if (message.role === 'user') this.builder.input(content, isContext(textOf(content)) ? 'context' : 'person', line)
    else this.builder.result(stringAt(message, 'tool_call_id') ?? '', content, FAILURE_START.test(textOf(content)), line)
  }

  private usage(tokens: number, line: number): void {
    const { measured } = this
    if (measured?.usage === undefined) {
      this.prompt = { tokens, line }
      return
    }
    measured.usage = { ...measured.usage, outputTokens: Math.max(0, tokens - measured.usage.inputTokens) }
    this.measured = null
  }

  private forgetUsage(): void {
    if (this.prompt !== null) this.builder.skip('token count of no single request', this.prompt.line)
    this.prompt = null
    this.measured = null
  }
}

const FAILURE_START = /^<system>ERROR: /

/** Kimi speaks to the model in the name of the user, and says so. */
function isContext(text: string): boolean {
  return /^\s*<(system|system-reminder|notification)[ >]/.test(text)
}
