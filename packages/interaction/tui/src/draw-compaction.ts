/**
 * Drawing a compaction: a line while it runs, a folded line afterwards, which opens to the checkpoint and to what it stands for.
 *
 * Pure.
 */
import { textOf } from '@deepseek-ai/dsh-llm'
import type { LogView, Seq } from '@deepseek-ai/dsh-session'
import type { CompactionBlock } from './blocks.ts'
import { eventAt, folded, type Canvas } from './canvas.ts'
import { entryWords } from './entry-words.ts'
import { clean, fit, oneLine, wrap } from './text.ts'
import { counted, duration, tokens } from './words.ts'

/** Shadowed entries listed, at most: the first and the last of them. */
const LISTED_ENTRIES = 60

export function drawCompaction(block: CompactionBlock, canvas: Canvas): string[] {
  const { log, theme, width, open, now, spinner, live: { rungs } } = canvas
  const took = duration((block.endedAt ?? now) - block.startedAt)
  switch (block.state) {
    case 'running': {
      const tried = rungs.map(({ strategy, outcome }) => `${strategy}: ${oneLine(outcome)} → `).join('')
      const facts = [took, ...(tried === '' ? ['summarizing', reason(block)] : [`${tried}…`])].join(' · ')
      return [fit(`${theme.accent(spinner)} ${theme.special('compacting')} ${theme.dim(`· ${facts}`)}`, width)]
    }
    case 'failed': {
      const { error = '', code } = block.endSeq === null ? { error: 'its process ended first' } : eventAt(log, block.endSeq, 'compaction/end').data
      if (code === 'aborted') return [fit(`${theme.warning('■')} ${theme.special('compaction cancelled')} ${theme.dim(`· ${took}`)}`, width)]
      return [fit(`${theme.bad('✗')} ${theme.special('compaction failed')} ${theme.dim(`· ${took} · ${oneLine(error)}`)}`, width)]
    }
    case 'done': {
      if (block.summarySeq === null || block.checkpointSeq === null) return [fit(theme.special('▸ compacted'), width)]
      const { shadowedSeqs, shadowedTokens } = eventAt(log, block.summarySeq, 'compaction/summary').data
      const checkpoint = eventAt(log, block.checkpointSeq, 'user/message')
      const checkpointTokens = canvas.estimateMessage({ role: 'user', content: checkpoint.data.content })
      const sizes = `${counted(shadowedSeqs.length, 'entry', 'entries')}, ${tokens(shadowedTokens)} → ${tokens(checkpointTokens)} tokens`
      const title = `${theme.dim(open ? '▾' : '▸')} ${theme.special('compacted')} ${theme.dim(`· ${[sizes, took, ...(block.strategy === null ? [] : [block.strategy]), reason(block)].join(' · ')}`)}`
      if (!open) return [fit(title, width)]
      const text = wrap(clean(textOf(checkpoint.data.content)).trim(), width - 4)
      const listed = entryLines(log, shadowedSeqs).map(line => theme.dim(fit(line, width - 4)))
      return [fit(title, width), ...folded([theme.bold('Checkpoint'), ...text, '', theme.bold('In place of'), ...listed], canvas)]
    }
  }
}

function reason({ trigger }: CompactionBlock): string {
  switch (trigger) {
    case 'pressure':
      return 'to make room'
    case 'context-overflow':
      return 'the provider refused the size'
    case 'manual':
      return 'asked for'
    default:
      return trigger
  }
}

function entryLines(log: LogView, seqs: readonly Seq[]): string[] {
  const half = LISTED_ENTRIES / 2
  const line = (seq: Seq): string => `#${seq} ${entryWords(log, seq)}`
  if (seqs.length <= LISTED_ENTRIES) return seqs.map(line)
  return [...seqs.slice(0, half).map(line), `… ${counted(seqs.length - 2 * half, 'more entry', 'more entries')}`, ...seqs.slice(-half).map(line)]
}
