/**
 * Drawing a tool call: one line, and what it opens to.
 *
 * Pure.
 */
import { textOf, type ToolCallBlock } from '@deepseek-ai/dsh-llm'
import type { CallBlock } from './blocks.ts'
import { argumentsLine, argumentsText, diffOf, isFine, outcomeLine } from './call-words.ts'
import { eventAt, folded, type Canvas } from './canvas.ts'
import { runMs } from './live.ts'
import { clean, fit, oneLine, visibleWidth, wrap } from './text.ts'
import type { Theme } from './theme.ts'
import { bytes, duration } from './words.ts'

/** Lines of live output that an open call shows. */
const LIVE_LINES = 12
/** A call that took less is not worth a figure. */
const TELLING_MS = 1_000
/** The share of a line that the subject of a call keeps, whatever else the line says. */
const SUBJECT_SHARE = 0.5

export function drawCall(block: CallBlock, canvas: Canvas): string[] {
  const { theme, width, open, live: { outputs } } = canvas
  const { name, args } = callOf(block, canvas)
  const { mark, fact } = standing(block, args, canvas)
  const title = titleLine(`${mark} ${theme.bold(oneLine(name))}`, argumentsLine(args), fact, canvas)
  if (open) return [title, ...folded(body(block, args, canvas), canvas)]
  const last = block.state === 'running' ? lastLines(outputs.get(block.callId)?.tail ?? '', 1)[0] : undefined
  return last === undefined ? [title] : [title, fit(theme.dim(`  │ ${last}`), width)]
}

/** What it is about gives way first, but not all of it; then how it stands. */
function titleLine(head: string, subject: string, fact: string, { theme, width }: Canvas): string {
  const shownFact = fact === '' ? '' : ` · ${fact}`
  if (subject === '') return fit(head + theme.dim(shownFact), width)
  const kept = Math.min(visibleWidth(subject), Math.floor(width * SUBJECT_SHARE))
  const room = Math.max(kept, width - visibleWidth(head) - 2 - visibleWidth(shownFact))
  return fit(`${head}  ${fit(subject, room)}${theme.dim(shownFact)}`, width)
}

function callOf({ words, name }: CallBlock, { log }: Canvas): { name: string; args: string } {
  if ('text' in words) return { name: name ?? '', args: words.text }
  const call = eventAt(log, words.seq, 'assistant/message').data.content[words.index] as ToolCallBlock
  return { name: call.name, args: call.arguments }
}

function standing(block: CallBlock, args: string, { log, theme, now, spinner, live }: Canvas): { mark: string; fact: string } {
  const took = (ms: number | null): string[] => (ms === null || ms < TELLING_MS ? [] : [duration(ms)])
  switch (block.state) {
    case 'writing':
      return { mark: theme.accent(spinner), fact: `writing ${bytes(args.length)}` }
    case 'waiting':
      return { mark: theme.dim('○'), fact: '' }
    case 'running': {
      const run = live.runs.get(block.callId)
      if (run !== undefined && run.askedAt !== null) return { mark: theme.warning('?'), fact: '' }
      const chars = live.outputs.get(block.callId)?.chars ?? 0
      return { mark: theme.accent(spinner), fact: [...(chars === 0 ? [] : [bytes(chars)]), ...took(run === undefined ? null : runMs(run, now))].join(' · ') }
    }
    default: {
      if (block.resultSeq === null) return { mark: theme.dim('○'), fact: '' }
      const outcome = eventAt(log, block.resultSeq, 'tool/result').data
      const mark = outcome.isError ? theme.bad('✗') : isFine(outcome) ? theme.good('✓') : theme.warning('!')
      return { mark, fact: [outcomeLine(outcome), ...took(live.ranMs.get(block.resultSeq) ?? block.ranMs)].join(' · ') }
    }
  }
}

function body(block: CallBlock, args: string, { log, theme, width, live: { outputs } }: Canvas): string[] {
  const room = width - 4
  const asked = wrap(argumentsText(args), room).map(theme.dim)
  if (block.resultSeq === null) return [...asked, ...lastLines(outputs.get(block.callId)?.tail ?? '', LIVE_LINES).map(line => fit(line, room))]
  const { content, meta } = eventAt(log, block.resultSeq, 'tool/result').data
  const diff = diffOf(meta)
  const text = clean(textOf(content)).trimEnd()
  const answered = text === '' ? [theme.dim('(no output)')] : wrap(text, room)
  return diff === null ? [...asked, '', ...answered] : [...diffLines(diff, room, theme), '', ...answered]
}

export function diffLines(diff: string, width: number, theme: Theme): string[] {
  return clean(diff).trimEnd().split('\n').flatMap(line => {
    const style = /^(?:\+\+\+|---|@@)/.test(line) ? theme.dim : line.startsWith('+') ? theme.good : line.startsWith('-') ? theme.bad : (text: string) => text
    return wrap(line, width).map(style)
  })
}

/** The last lines that say something. */
function lastLines(tail: string, count: number): string[] {
  // A line is seldom longer than this, and what is cut off is not seen anyway.
  const lines = clean(tail.slice(-count * 2_000)).split('\n').filter(line => line.trim() !== '')
  return lines.slice(-count)
}
