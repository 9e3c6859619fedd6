/** The provider's prefix cache over 300 steps with compactions, by the server's own counters; and what pruning costs it. */
import { cacheRun, shareOf, type CacheFigures, type CacheRun } from './cache-run.ts'
import { record, table } from './report.ts'

const STEPS = 300
const CONTEXT_WINDOW = 64_000
/** Of the summarizer's prompt, and of ordinary requests between compactions. */
const TARGET_SHARE = 0.95

const RUNS: readonly [string, Omit<CacheRun, 'dialect' | 'steps' | 'contextWindow'>][] = [
  ['results of 2 KB', {}],
  ['some of 12 KB', { hasLongResults: true, prunes: false }],
  ['some of 12 KB, pruned', { hasLongResults: true }],
]

export async function run(): Promise<void> {
  for (const dialect of ['openai', 'anthropic'] as const) {
    const figures: CacheFigures[] = []
    for (const [title, options] of RUNS) {
      const one = await cacheRun({ dialect, steps: STEPS, contextWindow: CONTEXT_WINDOW, ...options })
      record({ figure: 'cache', dialect, title, ...one })
      figures.push(one)
    }
    const row = (title: string, figure: (one: CacheFigures) => number | string) => [title, ...figures.map(figure)]
    table(`cache in the dialect of ${dialect}: ${STEPS} steps, window ${CONTEXT_WINDOW}; shares of prompt tokens that the server had read before`, ['', ...RUNS.map(([title]) => title)], [
      row(`summaries (target ≥ ${percent(TARGET_SHARE)})`, ({ summaries }) => percent(shareOf(summaries))),
      row(`requests between compactions (target ≥ ${percent(TARGET_SHARE)})`, ({ between }) => percent(shareOf(between))),
      row('requests right after a compaction', ({ after }) => percent(shareOf(after))),
      row('tokens not read from the cache, in all', ({ unreadTokens }) => unreadTokens),
      row('tokens of all prompts', ({ between, after, summaries }) => between.promptTokens + after.promptTokens + summaries.promptTokens),
      row('requests', ({ between, after, summaries }) => between.requests + after.requests + summaries.requests),
      row('compactions', ({ compactions }) => compactions),
      row('results pruned', ({ prunes }) => prunes),
      row('largest prompt', ({ peakTokens }) => peakTokens),
      row('requests refused', ({ refused }) => refused),
    ])
  }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
