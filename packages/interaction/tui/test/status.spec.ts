import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { activityLine, statusLine, waitingLines, type Status } from '../src/status.ts'
import { plain, visibleWidth } from '../src/text.ts'
import { theme } from '../src/theme.ts'
import { ago, bytes, duration, money, tokens } from '../src/words.ts'
import { RUNS, widths, words } from './words.ts'

const style = theme({ color: false })
const STATUS: Status = {
  route: 'deepseek/deepseek-chat',
  meter: { totalTokens: 104_320, isMeasured: true, windowTokens: 128_000, thresholdTokens: 102_400 },
  compaction: { beforeTokens: 84_000, afterTokens: 2_100, turn: 7, agoMs: 180_000 },
  cost: 0.42,
  title: 'Fix the reader',
  id: '3f2a9c1e-0000',
}
const line = (status: Partial<Status>, width: number): string => plain(statusLine({ ...STATUS, ...status }, width, style))

describe('the status line', () => {
  it.each([
    [120, 'deepseek/deepseek-chat · █████████┃░░ 82% 104k/128k · compacted 84k→2.1k turn 7 · $0.42          Fix the reader 3f2a9c1e'],
    [80, 'deepseek/deepseek-chat · █████████┃░░ 82% 104k/128k · compacted 84k→2.1k turn 7'],
    [40, 'deepseek/deepseek-chat · $0.42  3f2a9c1e'],
  ])('says at %i columns what fits', (width, expected) => {
    expect(line({}, width).replace(/ +$/, '')).toBe(expected)
  })

  it('says what is not known', () => {
    const meter = { totalTokens: 900, isMeasured: false, windowTokens: null, thresholdTokens: null }
    expect(line({ meter, compaction: null, cost: null, title: '' }, 60)).toBe('deepseek/deepseek-chat · ~900 tokens                3f2a9c1e')
  })

  it('never leaves its line', () => {
    fc.assert(fc.property(words, words, widths, fc.nat(300_000), (route, title, width, totalTokens) => {
      const meter = { ...STATUS.meter, totalTokens }
      expect(visibleWidth(statusLine({ ...STATUS, route, title, meter }, width, style))).toBeLessThanOrEqual(width)
    }), RUNS)
  })
})

it('what goes on keeps its place when keys do not fit', () => {
  const keys = [['Esc', 'stop'], ['Enter', 'say after this step']] as const
  const doing = { words: 'Running shell', ms: 65_000 }
  expect(plain(activityLine({ doing, keys }, '*', 70, style))).toBe('* Running shell 1m 05s            Esc stop · Enter say after this step')
  expect(plain(activityLine({ doing, keys }, '*', 40, style))).toBe('* Running shell 1m 05s          Esc stop')
  expect(plain(activityLine({ doing: null, keys }, '*', 40, style))).toBe('Esc stop · Enter say after this step')
})

it('what waits says for what', () => {
  const items = [{ kind: 'steer', text: 'mind the\ntests' }, { kind: 'send', text: 'then the docs' }] as const
  expect(waitingLines(items, 60, style).map(plain)).toEqual(['↳ after this step: mind the tests', '↳ next: then the docs'])
  expect(waitingLines([...items, ...items], 60, style).map(plain)[0]).toBe('  … 1 more')
})

it('figures are for people', () => {
  expect([0, 999, 1_000, 9_400, 9_960, 128_000, 999_600, 2_500_000].map(tokens)).toEqual(['0', '999', '1k', '9.4k', '10k', '128k', '1M', '2.5M'])
  expect([400, 12_000, 185_000, 3_720_000].map(duration)).toEqual(['0.4s', '12s', '3m 05s', '1h 02m'])
  expect([0, 300_000, 10_800_000, 200_000_000].map(ago)).toEqual(['now', '5m ago', '3h ago', '2d ago'])
  expect([0, 0.0012, 0.42, 1_234].map(money)).toEqual(['$0', '$0.0012', '$0.42', '$1234'])
  expect([12, 4_096, 2_000_000].map(bytes)).toEqual(['12 B', '5 kB', '2.0 MB'])
})
