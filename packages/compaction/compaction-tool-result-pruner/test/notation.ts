/**
 * Conversations drawn as text, with four characters a token: `u50` a person's message of 50 tokens, `x50` a program's, `s50` a
 * checkpoint, `a50` an answer, `cab10` an answer of 10 tokens that calls a and b, `ra900` the result for a.
 */
import { Context } from '@deepseek-ai/cordis'
import { COMPACT_CHECKPOINT_SOURCE } from '@deepseek-ai/dsh-compaction'
import { textOf, type ContentBlock } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, Session, type EventSink, type MessageSource, type Seq } from '@deepseek-ai/dsh-session'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import ToolResultPruner, { type PrunerConfig } from '../src/index.ts'

export interface Loaded {
  readonly ctx: Context
  readonly pruner: ToolResultPruner
  readonly notices: readonly string[]
}

export async function load(config: PrunerConfig = {}): Promise<Loaded> {
  const ctx = new Context()
  await ctx.plugin(TokenMeterService, { charsPerToken: 4 })
  await ctx.plugin(ToolResultPruner, config)
  const notices: string[] = []
  ctx.on('compaction/notice', (_session, notice) => void notices.push(notice))
  return { ctx, pruner: ctx.toolResultPruner, notices }
}

const SOURCES: { readonly [kind: string]: MessageSource } = { u: { kind: 'user' }, x: { kind: 'context' }, s: COMPACT_CHECKPOINT_SOURCE }

export function drawn(picture: string, sink?: EventSink): Session {
  const session = new Session({ header: { id: 's', createdAt: 0 }, now: () => 0, ...(sink && { sink }) })
  const at = { turn: 1, step: 1 }
  for (const word of picture.split(' ')) {
    const [, kind, ids, size] = /^([uxsacr])([a-z]*)(\d+)$/.exec(word) ?? []
    if (kind === undefined) throw new SyntaxError(`not an entry: ${word}`)
    const content = [{ type: 'text', text: sized(word, Number(size)) }] as const
    const source = SOURCES[kind]
    if (source !== undefined) session.append('user/message', { content, source }, { surfaceOp: 'append' })
    else if (kind === 'r') session.append('tool/result', { ...at, callId: ids!, content }, { surfaceOp: 'append' })
    else {
      const calls = [...ids!].map((id): ContentBlock => ({ type: 'tool-call', id, name: 'look', arguments: '{}' }))
      session.append('assistant/message', { ...at, content: [...content, ...calls], provider: 'p', model: 'm', finish: 'stop' }, { surfaceOp: 'append' })
    }
  }
  return session
}

/** A text of so many tokens as a block, beginning with `label`; no stretch of it occurs twice. */
function sized(label: string, tokens: number): string {
  const words = Array.from({ length: tokens }, (_, index) => `${label}:${index}`).join(' ')
  return words.slice(0, Math.max(1, 4 * (tokens - 4)))
}

export function contentOf(session: Session, seq: Seq): readonly ContentBlock[] {
  const event = session.log.at(seq)
  if (!isSurfaceEvent(event)) throw new Error(`${seq} is no entry`)
  return event.data.content
}

/** The text of each entry of the surface. */
export function textsOf(session: Session): string[] {
  return session.surface.entries.map(seq => textOf(contentOf(session, seq)))
}

/** What each entry was drawn as; a view of it has a `~`. */
export function surfaceOf(session: Session): string {
  return textsOf(session).map(text => `${text.split(':')[0]}${text.includes('characters left out') ? '~' : ''}`).join(' ')
}
