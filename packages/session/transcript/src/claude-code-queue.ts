/**
 * The queue of a Claude Code log: prompts that the person typed while the model worked.
 *
 * Pure. A prompt that left the queue by `dequeue` stands as a message of the user, and newer versions log one that left by
 * `remove` as an attachment. Older versions log the latter nowhere else, although it was given to the model.
 */
import type { TranscriptBuilder } from './builder.ts'
import { isObject, objectAt, stringAt } from './json.ts'
import type { Line } from './lines.ts'

const NOTICE_START = /^\s*(\{"task_id"|<task-notification>)/

export class PromptQueue {
  private readonly builder: TranscriptBuilder
  /** What the file has as a prompt besides the queue. */
  private readonly logged: ReadonlySet<string>
  private waiting: { readonly text: string; readonly line: number }[] = []

  constructor(lines: readonly Line[], builder: TranscriptBuilder) {
    this.builder = builder
    this.logged = promptsOf(lines)
  }

  /**
   * The prompt that this line gives to the model and no other line does, or null. A removal does not say what it removes:
   * prompts, oldest first, go before notices of background tasks, which are counted.
   */
  operation({ line, value }: Line): string | null {
    const text = stringAt(value, 'content') ?? ''
    switch (value.operation) {
      case 'enqueue':
        if (NOTICE_START.test(text)) this.builder.skip('queued notice of a background task', line)
        else this.waiting.push({ text, line })
        return null
      case 'popAll':
        this.finish()
        return null
      default: {
        const taken = this.waiting.shift()
        return value.operation === 'remove' && taken !== undefined && !this.logged.has(taken.text) ? taken.text : null
      }
    }
  }

  /** What still waits goes back to the person. */
  finish(): void {
    for (const { text, line } of this.waiting) if (!this.logged.has(text)) this.builder.skip('queued input that no request took', line)
    this.waiting = []
  }
}

function promptsOf(lines: readonly Line[]): ReadonlySet<string> {
  const prompts = new Set<string>()
  for (const { value } of lines) {
    const content = value.type === 'user' ? objectAt(value, 'message')?.content : objectAt(value, 'attachment')?.prompt
    const parts = Array.isArray(content) ? content : [{ text: content }]
    for (const part of parts) if (isObject(part) && typeof part.text === 'string') prompts.add(part.text)
  }
  return prompts
}
