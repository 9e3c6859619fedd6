/**
 * Replay outcome: what a replay amounts to, with its log read back from disk to see that it says the same.
 */
import { resolveConfig } from '@deepseek-ai/dsh-compaction-basic'
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { readSessionFile } from '@deepseek-ai/dsh-session-persistence-jsonl'
import { estimator } from '@deepseek-ai/dsh-token-meter'
import { isDeepStrictEqual } from 'node:util'
import { logStatistics } from './log-statistics.ts'
import type { ReplayReport } from './replay-report.ts'
import type { Replayed, ReplayOptions } from './replay.ts'

export async function replayReport(file: string, options: ReplayOptions, replayed: Replayed, logPath: string): Promise<ReplayReport> {
  const { transcript, windowTokens, maxTokens } = options
  const { session, requests, compactions, prompted, stopped, wallMs, ownMs } = replayed
  const { events } = await readSessionFile(logPath)
  const { messages, steps, toolCalls, prunes, oversized } = logStatistics(session.log, estimator(), windowTokens)
  const totals = requests.totals()
  return {
    file,
    format: transcript.format,
    model: transcript.model,
    window: windowTokens,
    threshold: thresholdTokens(windowTokens, maxTokens),
    messages,
    steps,
    toolCalls,
    requests: totals.requests,
    overWindowRequests: totals.overWindowRequests,
    peakRequestTokens: totals.peakRequestTokens,
    finalRequestTokens: totals.finalRequestTokens,
    compactions,
    prunes,
    oversized,
    skipped: [
      ...transcript.skipped,
      ...(prompted.count === 0 ? [] : [{ reason: 'answer nobody asked for; the replay asked for it', ...prompted }]),
    ],
    orphanResults: totals.orphanResults,
    unansweredCalls: totals.unansweredCalls,
    replayIdentical: isIdentical(session, events),
    logEvents: session.log.length,
    wallMs: Math.round(wallMs),
    overheadMs: Math.round(ownMs),
    ...(stopped === null ? {} : { stopped }),
  }
}

/** Where pressure acts with the engine's own defaults. */
function thresholdTokens(windowTokens: number, maxTokens = 0): number {
  const { thresholdRatio } = resolveConfig().policyFor('recorded', 'recorded')
  const reserveTokens = Math.min(maxTokens, Math.floor(windowTokens / 2))
  return Math.min(Math.floor(windowTokens * thresholdRatio), windowTokens - reserveTokens)
}

/** Whether the stored events are the session's own, and derive the same surface, messages and folds once more. */
function isIdentical(session: Session, stored: readonly SessionEvent[]): boolean {
  if (!isDeepStrictEqual(stored, [...session.log.from(0)])) return false
  try {
    expectReplays(session)
    return true
  } catch {
    return false
  }
}
