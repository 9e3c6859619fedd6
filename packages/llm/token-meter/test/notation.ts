import type { ContentBlock, FinishReason, Message, TokenUsage } from '@deepseek-ai/dsh-llm'
import { Session, type SessionEvent } from '@deepseek-ai/dsh-session'

export const route = { provider: 'lab', model: 'one' }
export const elsewhere = { provider: 'lab', model: 'two' }

/** At this density a text block of `tokens` costs exactly that, and nothing else costs anything beside it. */
export const DENSITY = { charsPerToken: 1 }
export const words = (tokens: number): ContentBlock[] => [{ type: 'text', text: 'x'.repeat(tokens - 4) }]
export const pending = (tokens: number): Message => ({ role: 'user', content: words(tokens) })

/** A session and the events that matter to a meter, each in a word. Sizes are tokens at {@link DENSITY}. */
export class Story {
  readonly session = new Session({ header: { id: 's', createdAt: 0 }, now: () => 0 })

  header(config = route, systemTokens = 0): this {
    const system = systemTokens === 0 ? {} : { system: 'x'.repeat(systemTokens - 4) }
    this.session.append('request/header', { config, ...system, reason: 'change' })
    return this
  }

  context(contextWindow: number, config = route, learned: { learned?: true } = {}): this {
    this.session.append('request/context', { ...config, contextWindow, ...learned })
    return this
  }

  user(tokens: number): this {
    return this.says(words(tokens))
  }

  says(content: readonly ContentBlock[]): this {
    this.session.append('user/message', { content, source: { kind: 'user' } }, { surfaceOp: 'append' })
    return this
  }

  /** An answer whose request cost `usage` on its prompt side. */
  answer(tokens: number, usage: number | TokenUsage | undefined, config = route, more: { interrupted?: true; finish?: FinishReason } = {}): this {
    const reported = typeof usage === 'number' ? { inputTokens: usage, outputTokens: tokens } : usage
    this.session.append(
      'assistant/message',
      { turn: 1, step: 1, content: words(tokens), ...config, finish: 'stop', ...(reported === undefined ? {} : { usage: reported }), ...more },
      { surfaceOp: 'append' },
    )
    return this
  }

  /** Puts one user message in the place of positions `from`..`to`, both included. */
  replace(from: number, to: number, tokens: number): SessionEvent {
    const shadowed = this.session.surface.entries.slice(from, to + 1)
    return this.session.append(
      'user/message',
      { content: words(tokens), source: { kind: 'plugin', plugin: 'compact' } },
      { surfaceOp: { op: 'replace', start: shadowed[0]!, end: shadowed.at(-1)! }, sourceEventSeqs: shadowed },
    )
  }
}
