import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Viewport, type Lines } from '../src/viewport.ts'
import { RUNS } from './words.ts'

/** Blocks of so many lines, each line by its number. */
function blocks(...heights: readonly number[]): Lines {
  let next = 0
  const drawn = heights.map(height => Array.from({ length: height }, () => String(next++)))
  return { length: drawn.length, at: index => drawn[index]! }
}
const seen = (viewport: Viewport, lines: Lines, height: number): string => viewport.visible(lines, height).map(({ text }) => text).join(' ')

it('follows the end, stays where it was scrolled to, and follows again', () => {
  const viewport = new Viewport()
  expect(seen(viewport, blocks(2, 3), 3)).toBe('2 3 4')
  viewport.scroll(blocks(2, 3), -2)
  expect(seen(viewport, blocks(2, 3), 3)).toBe('0 1 2')
  expect(seen(viewport, blocks(2, 3, 4), 3)).toBe('0 1 2')
  viewport.scroll(blocks(2, 3, 4), -5)
  expect(seen(viewport, blocks(2, 3, 4), 3)).toBe('0 1 2')
  viewport.scroll(blocks(2, 3, 4), 6)
  expect(seen(viewport, blocks(2, 3, 4), 3)).toBe('6 7 8')
  expect(viewport.follows).toBe(true)
})

it('shows what there is when the screen is larger', () => {
  const viewport = new Viewport()
  expect(seen(viewport, blocks(1, 0, 1), 5)).toBe('0 1')
  viewport.scroll(blocks(1, 0, 1), -1)
  expect(viewport.follows).toBe(true)
  expect(seen(viewport, blocks(), 5)).toBe('')
})

it('reveals a block above and below', () => {
  const lines = blocks(3, 3, 3, 3)
  const viewport = new Viewport()
  seen(viewport, lines, 4)
  viewport.reveal(lines, 0)
  expect(seen(viewport, lines, 4)).toBe('0 1 2 3')
  viewport.reveal(lines, 3)
  expect(seen(viewport, lines, 4).split(' ')).toContain('9')
})

it('whatever is scrolled, the screen shows neighbouring lines and as many as it can', () => {
  const heights = fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 12 })
  fc.assert(fc.property(heights, fc.integer({ min: 1, max: 10 }), fc.array(fc.integer({ min: -8, max: 8 }), { maxLength: 10 }), (heights, height, scrolls) => {
    const lines = blocks(...heights)
    const total = heights.reduce((sum, height) => sum + height, 0)
    const viewport = new Viewport()
    let top = Math.max(0, total - height)
    viewport.visible(lines, height)
    for (const by of scrolls) {
      viewport.scroll(lines, by)
      top = Math.max(0, Math.min(top + by, Math.max(0, total - height)))
      const shown = viewport.visible(lines, height).map(({ text }) => Number(text))
      expect(shown).toEqual(Array.from({ length: Math.min(height, total) }, (_, row) => top + row))
    }
  }), RUNS)
})
