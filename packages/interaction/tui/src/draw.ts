/**
 * Drawing: one block as lines. A two-column gutter says what a line is, words stand to its right.
 *
 *     › what a person said
 *       an answer
 *     ✓ shell  npm test · 12 lines · 3s
 *
 * Pure.
 */
import { textOf } from '@deepseek-ai/dsh-llm'
import type { Block, CommandBlock, EndBlock, SaidBlock, WordsBlock } from './blocks.ts'
import { eventAt, folded, inside, wordsIn, type Canvas } from './canvas.ts'
import { drawCall } from './draw-call.ts'
import { drawCompaction } from './draw-compaction.ts'
import { drawShortened } from './draw-shortened.ts'
import { markdownLines } from './markdown.ts'
import { clean, fit, hang, oneLine, wrap } from './text.ts'
import { counted, duration } from './words.ts'

/** No line is wider than the canvas. */
export function draw(block: Block, canvas: Canvas): string[] {
  switch (block.kind) {
    case 'person':
    case 'context':
      return drawSaid(block, canvas)
    case 'answer':
      return drawAnswer(block, canvas)
    case 'reasoning':
      return drawReasoning(block, canvas)
    case 'call':
      return drawCall(block, canvas)
    case 'compaction':
      return drawCompaction(block, canvas)
    case 'shortened':
      return drawShortened(block, canvas)
    case 'command':
      return drawCommand(block, canvas)
    case 'end':
      return drawEnd(block, canvas)
    case 'resumed':
      return [rule(block.seq === canvas.forkSeq ? 'a copy from here on' : 'resumed', canvas)]
    case 'notice':
      return hang(canvas.theme.warning(block.level === 'warning' ? '! ' : '· '), wrap(clean(block.text).trim(), inside(canvas)).map(canvas.theme.dim))
  }
}

/** Whether there is something to open. */
export function isFoldable({ kind }: Block): boolean {
  return kind === 'reasoning' || kind === 'call' || kind === 'compaction' || kind === 'shortened' || kind === 'context'
}

/** Whether it looks different from moment to moment. */
export function isMoving(block: Block): boolean {
  return (block.kind === 'call' && (block.state === 'running' || block.state === 'writing')) || (block.kind === 'compaction' && block.state === 'running')
}

/** Blank lines between two blocks: what belongs together stands close. */
export function gapBetween(before: Block, after: Block): number {
  const isWork = ({ kind }: Block): boolean => kind === 'call' || kind === 'reasoning' || kind === 'shortened'
  const isSame = before.kind === after.kind && (after.kind === 'notice' || after.kind === 'end')
  return isSame || (isWork(before) && isWork(after)) ? 0 : 1
}

function rule(words: string, { theme, width }: Canvas): string {
  return theme.dim(fit(`── ${words} ${'─'.repeat(Math.max(0, width - words.length - 4))}`, width))
}

function drawSaid(block: SaidBlock, canvas: Canvas): string[] {
  const { log, theme, open } = canvas
  const { content, source } = eventAt(log, block.seq, 'user/message').data
  const images = content.filter(({ type }) => type === 'image').length
  const text = [clean(textOf(content)).trim(), ...(images === 0 ? [] : [`[${counted(images, 'image')}]`])].filter(part => part !== '').join('\n')
  if (block.kind === 'person') return hang(theme.accent('› '), wrap(text, inside(canvas)).map(theme.bold))
  const title = `${theme.dim(open ? '▾ ' : '▸ ')}${theme.dim(`context from ${oneLine(String(source['plugin'] ?? source.kind))}: ${oneLine(text)}`)}`
  return [fit(title, canvas.width), ...(open ? folded(wrap(text, canvas.width - 4), canvas) : [])]
}

function drawAnswer(block: WordsBlock, canvas: Canvas): string[] {
  const { log, theme, pieces } = canvas
  const lines = markdownLines(clean(wordsIn(log, block.words)).trim(), inside(canvas), theme, pieces)
  return hang('  ', block.interrupted ? [...lines, theme.warning('— cut short')] : lines)
}

function drawReasoning(block: WordsBlock, canvas: Canvas): string[] {
  const { log, theme, open, width } = canvas
  const text = clean(wordsIn(log, block.words)).trim()
  const isStreaming = 'text' in block.words
  // While it streams, what it came to last says more than how it began.
  const preview = oneLine(isStreaming ? text.slice(text.lastIndexOf('\n') + 1) : text)
  const title = fit(theme.dim(`${open ? '▾' : '▸'} ${isStreaming ? 'thinking' : 'thought'} · ${preview}`), width)
  return [title, ...(open ? folded(wrap(text, width - 4).map(theme.italic).map(theme.dim), canvas) : [])]
}

function drawCommand(block: CommandBlock, canvas: Canvas): string[] {
  const { log, theme } = canvas
  const { name, args } = eventAt(log, block.seq, 'command/run').data
  const line = hang(theme.accent('› '), wrap(theme.bold(oneLine(`/${name} ${args}`)), inside(canvas)))
  if (block.doneSeq === null) return block.lost ? [...line, fit(theme.dim('  its outcome is not recorded'), canvas.width)] : line
  const { text, error } = eventAt(log, block.doneSeq, 'command/done').data
  const words = clean(error ?? text ?? '').trimEnd()
  return [...line, ...(words === '' ? [] : hang(error === undefined ? '  ' : theme.bad('✗ '), wrap(words, inside(canvas))))]
}

function drawEnd(block: EndBlock, canvas: Canvas): string[] {
  const { log, theme } = canvas
  const end = eventAt(log, block.seq, 'turn/end').data
  const wrapped = (mark: string, text: string): string[] => hang(mark, wrap(clean(text), inside(canvas)))
  switch (end.reason) {
    case 'aborted':
      return wrapped(theme.warning('■ '), end.by === 'user' ? 'you cancelled this' : `cancelled by ${end.by}`)
    case 'error': {
      const { code, message, retryAfterMs } = end.failure
      if (block.retried) return wrapped(theme.dim('↻ '), `${code}: ${message} (tried again)`).map(theme.dim)
      const tried = block.tries > 1 ? [`tried ${block.tries} times`] : []
      const asked = retryAfterMs === undefined ? [] : [`the provider asks to wait ${duration(retryAfterMs)}`]
      return wrapped(theme.bad('✗ '), [`${code}: ${message}`, ...tried, ...asked].join(' · '))
    }
    case 'max-tokens':
      return wrapped(theme.warning('! '), 'the answer reached its output limit')
    case 'blocked':
      return wrapped(theme.warning('! '), 'the turn was blocked')
    case 'interrupted':
      return wrapped(theme.warning('! '), 'the turn before was interrupted: its process ended')
    default:
      return []
  }
}
