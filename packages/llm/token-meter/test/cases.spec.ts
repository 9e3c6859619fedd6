/** Stories of other harnesses’ meters going wrong, each as the number it must come out with here. */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { expect, it } from 'vitest'
import { tokenMeter } from '../src/measure.ts'
import { Story, DENSITY, route } from './notation.ts'

it('D09: a prompt read almost wholly from the cache counts in full', () => {
  const meter = tokenMeter(DENSITY)
  const cached = new Story().context(400_000).header().user(300_000).answer(140, { inputTokens: 99, cacheReadTokens: 305_000, outputTokens: 140 })
  expect(meter.measure(cached.session)).toMatchObject({ totalTokens: 305_099 + 140, basis: 'usage' })
  // Above the window it is a request that the provider cut: not believed, and the estimate says the same.
  const cut = new Story().context(200_000).header().user(300_000).answer(140, { inputTokens: 99, cacheReadTokens: 305_000, outputTokens: 140 })
  expect(meter.measure(cut.session)).toMatchObject({ totalTokens: 300_140, basis: 'estimate' })
  // Cached tokens are a bucket of their own here, so they are not added to a prompt that holds them already.
  const under = new Story().header().user(38_000).answer(100, { inputTokens: 43, cacheReadTokens: 38_153, outputTokens: 100 })
  expect(meter.measure(under.session).totalTokens).toBe(38_196 + 100)
})

it('D10: the usage of a request from before a checkpoint does not outlive it', () => {
  const meter = tokenMeter(DENSITY)
  const story = new Story().header().user(4_000).user(4_900).answer(100, 9_100)
  story.replace(0, 1, 2_700)
  expect(meter.measure(story.session)).toMatchObject({ surfaceTokens: 2_800, totalTokens: 3_000 })
})

it('D18: a Chinese message of a thousand characters costs close to a thousand tokens, before and after the first answers', () => {
  const meter = tokenMeter()
  const story = new Story().header()
  const message: ContentBlock[] = [{ type: 'text', text: '这段文字用来检验汉字的价格'.repeat(80).slice(0, 1_000) }]
  let usage = 0
  for (let count = 0; count < 20; count++) {
    story.says(message)
    usage += 950
    if (count % 4 === 3) story.answer(10, usage)
  }
  const { totalTokens, slope } = meter.measure(story.session)
  expect(Math.abs(totalTokens - usage) / usage).toBeLessThan(0.02)
  const price = meter.tokensAt(story.session, 0) * slope
  expect(Math.abs(price - 950) / 950).toBeLessThan(0.05)
  expect(Math.ceil(2_000 / meter.tokensAt(story.session, 0))).toBe(3) // a tail of 2,000 tokens is three of them, not eight
})

it('D19: an image costs its pixels, not its bytes', () => {
  const meter = tokenMeter()
  const png: ContentBlock = { type: 'image', mediaType: 'image/png', data: 'A'.repeat(Math.ceil((2_500_000 * 4) / 3)) }
  const result = new Story()
  result.session.append('tool/result', { turn: 1, step: 1, callId: 'c', content: [png] }, { surfaceOp: 'append' })
  result.session.append('tool/result', { turn: 1, step: 1, callId: 'd', content: [{ ...png, width: 4_000, height: 3_000 }] }, { surfaceOp: 'append' })
  expect(meter.tokensAt(result.session, 0)).toBeLessThanOrEqual(5_000)
  expect(meter.tokensAt(result.session, 1)).toBeLessThanOrEqual(5_000)

  const gallery = new Story().header(route)
  for (let count = 0; count < 60; count++) gallery.says([{ type: 'image', mediaType: 'image/png', data: 'AAAA' }])
  expect(meter.measure(gallery.session).totalTokens).toBeGreaterThanOrEqual(60_000)
})
