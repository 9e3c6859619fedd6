import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chart, compactTokens, type ChartInit } from '../src/chart.ts'

const init = (given: Partial<ChartInit> & Pick<ChartInit, 'points'>): ChartInit =>
  ({ marks: [], windowTokens: 1_000, thresholdTokens: 800, columns: 60, rows: 11, ...given })

const charts = fc.record({
  points: fc.array(fc.nat(1_500), { minLength: 1, maxLength: 300 }).map(sizes => sizes.map((tokens, index) => ({ step: index + 1, tokens }))),
  marks: fc.array(fc.record({ step: fc.integer({ min: 1, max: 310 }), sign: fc.constant('▲') }), { maxLength: 5 }),
  columns: fc.integer({ min: 20, max: 120 }),
  rows: fc.integer({ min: 8, max: 30 }),
})

describe('the chart', () => {
  it('shows the saw-tooth', () => {
    const points = [300, 500, 700, 850, 400, 600, 780, 300].map((tokens, index) => ({ step: index + 1, tokens }))
    expect(chart(init({ points, marks: [{ step: 5, sign: '▲' }, { step: 8, sign: '▲' }], columns: 40 }))).toEqual([
      '  1.0k ┤────────────────────────',
      '   800 ┤┄┄┄┄┄┄┄┄┄▆▆▆┄┄┄┄┄┄▂▂▂┄┄┄',
      '       │      ▅▅▅███      ███',
      '       │      ██████   ▆▆▆███',
      '       │   █████████▂▂▂██████',
      '       │▃▃▃██████████████████▃▃▃',
      '       │████████████████████████',
      '       │████████████████████████',
      '     0 ┴────────────────────────',
      '                    ▲        ▲',
      '  step  1                      8',
    ])
  })

  it('fits the place it is given', () => {
    fc.assert(fc.property(charts, given => {
      const lines = chart(init(given))
      expect(lines.length).toBeLessThanOrEqual(given.rows)
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(given.columns)
    }), { seed: 1, numRuns: 500 })
  })

  it('fills a column higher for a larger request', () => {
    fc.assert(fc.property(fc.nat(1_000), fc.nat(1_000), (one, other) => {
      const lines = chart(init({ points: [{ step: 1, tokens: one }, { step: 2, tokens: other }] }))
      const height = (column: number): number => lines.filter(line => /[▁-█]/.test(line[column] ?? '')).length
      if (one <= other) expect(height(8)).toBeLessThanOrEqual(height(11))
      else expect(height(8)).toBeGreaterThanOrEqual(height(11))
    }), { seed: 1, numRuns: 500 })
  })

  it('is empty without a request', () => {
    expect(chart(init({ points: [] }))).toEqual([])
  })
})

it.each([[0, '0'], [950, '950'], [24_000, '24.0k'], [999_949, '999.9k'], [999_950, '1.00M'], [1_254_000, '1.25M']])('writes %d tokens as %s', (tokens, written) => {
  expect(compactTokens(tokens)).toBe(written)
})
