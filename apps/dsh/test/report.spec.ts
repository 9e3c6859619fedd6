import { expect, it } from 'vitest'
import { renderReport } from '../src/report.ts'
import { violationsOf, type CompactionRow, type ReplayReport } from '../src/replay-report.ts'

const clean: ReplayReport = {
  file: 'session.json', format: 'openai-chat', model: 'drawn', window: 10_000, threshold: 8_000, messages: 9, steps: 4, toolCalls: 3,
  requests: 4, overWindowRequests: 0, peakRequestTokens: 7_900, finalRequestTokens: 3_000, compactions: [], prunes: { results: 0, tokens: 0 },
  oversized: [], skipped: [], orphanResults: 0, unansweredCalls: 0, replayIdentical: true, logEvents: 40, wallMs: 12, overheadMs: 9,
}
const row: CompactionRow = {
  step: 3, trigger: 'pressure', pressureBefore: 8_100, pressureAfter: 2_500, shadowedEntries: 6, shadowedTokens: 6_300, checkpointTokens: 700,
  summarizer: 'digest', ms: 4, ok: true,
}
const points = [4_000, 7_900, 2_500, 3_000].map((tokens, index) => ({ step: index + 1, tokens }))
const render = (changes: Partial<ReplayReport>): string => renderReport({ report: { ...clean, ...changes }, points, columns: 60 })

it('tells a compaction in the table and in the picture', () => {
  const text = render({ compactions: [row] })
  expect(text).toMatch(/^ +3 {2}pressure +8\.1k +2\.5k +6 +6\.3k +700 {2}digest +4$/m)
  expect(text).toContain('▲ compaction')
  expect(text).toMatch(/^ +▲$/m)
})

it('tells a recorded and a failed one apart', () => {
  const failed: CompactionRow = { ...row, step: 4, ok: false, error: 'the summary is empty' }
  const text = render({ compactions: [{ ...row, trigger: 'recorded', summarizer: 'recorded' }, failed] })
  expect(text).toContain('△ recorded compaction, × failed compaction')
  expect(text).toMatch(/^ +△ +×$/m)
  expect(text).toContain('failed: the summary is empty')
})

it('names what was skipped, and where', () => {
  expect(render({ skipped: [{ reason: 'blank text', count: 3, line: 17 }] })).toContain('3 × blank text (first at 17)')
})

it('ends with its verdict', () => {
  expect(render({}).trimEnd().split('\n').at(-1)).toMatch(/^✓/)
  expect(render({ overWindowRequests: 1 }).trimEnd().split('\n').at(-1)).toBe('✗ 1 of 4 requests over the window')
})

it.each<[Partial<ReplayReport>, number]>([
  [{}, 0],
  [{ overWindowRequests: 1 }, 1],
  [{ orphanResults: 1, unansweredCalls: 2 }, 2],
  [{ replayIdentical: false }, 1],
  [{ stopped: 'somewhere' }, 1],
  [{ skipped: [{ reason: 'blank text', count: 1, line: 1 }], oversized: [{ step: 1, seq: 1, tokens: 20_000, shortened: true }] }, 0],
])('%j has %d violations', (changes, count) => {
  expect(violationsOf({ ...clean, ...changes })).toHaveLength(count)
})

it('keeps every line inside its columns, except for what it quotes', () => {
  for (const line of render({ compactions: [row] }).split('\n').filter(line => /[│┤┴]/.test(line))) expect(line.length).toBeLessThanOrEqual(60)
})
