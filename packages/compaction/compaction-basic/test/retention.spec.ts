import { describe, expect, it } from 'vitest'
import { retentionCut, unreadCut, type PricedSurface } from '../src/retention.ts'
import { picture } from './picture.ts'

describe('retentionCut', () => {
  it.each([
    ['keeps the smallest tail that reaches the budget', 50, 'u50 a50 | u20 a30'],
    ['keeps the entry that crosses the budget', 51, 'u50 | a50 u20 a30'],
    ['keeps a whole step when the budget ends inside it', 40, 'u50 | c10 r60'],
    ['keeps parallel calls with all their results', 20, 'u50 | cc10 r30 r30'],
    ['cuts between steps of one runaway turn', 60, 'u10 c10 r50 | c10 r50'],
    ['never parts an open step', 0, 'u50 a10 | c10'],
    ['keeps one entry when asked for nothing', 0, 'u50 a50 | u20'],
    ['declines when the whole surface is below the budget', 500, 'u50 a50 u20'],
    ['declines when the only old entries are one open step', 10, 'cc10 r90'],
    ['declines a single oversized entry', 10, 'u9000'],
    ['finds nothing safe behind a call that is never answered', 0, 'u50 | c10 u20 a30'],
  ])('%s', (_title, retainTokens, text) => {
    const { surface, cut } = picture(text)
    expect(retentionCut(surface, retainTokens)).toBe(cut)
  })

  it.each([
    ['stays before the latest cut allowed, however little is asked for', 2, 0, 'u50 a50 | u20 a30'],
    ['goes further back from there to reach the budget', 2, 60, 'u50 | a50 u20 a30'],
    ['goes further back from there to a safe cut', 2, 0, 'u50 | c10 r30 a30'],
    ['declines when nothing is allowed', 0, 0, 'u50 a50 u20'],
  ])('%s', (_title, latestCut, retainTokens, text) => {
    const { surface, cut } = picture(text)
    expect(retentionCut(surface, retainTokens, latestCut)).toBe(cut)
  })

  it('agrees with its definition on every surface of up to five entries', () => {
    let checked = 0
    for (const { surface } of everySurface(5)) {
      for (const retainTokens of [0, 1, 2, 3, 5, 8]) {
        for (const latestCut of [surface.length - 1, surface.length - 2]) {
          const allowed = cutsOf(surface).filter(cut =>
            cut > 0 && cut < surface.length && cut <= latestCut && surface.openCalls(cut) === 0 && tailTokens(surface, cut) >= retainTokens)
          if (retentionCut(surface, retainTokens, latestCut) !== (allowed.at(-1) ?? null)) {
            expect.unreachable(`retentionCut(${shown(surface)}, ${retainTokens}, ${latestCut}) is ${retentionCut(surface, retainTokens, latestCut)}, not ${allowed.at(-1) ?? null}`)
          }
          checked += 1
        }
      }
    }
    expect(checked).toBeGreaterThan(10_000) // the enumeration itself must not go quiet
  })

  it('asks for no price that it does not need', () => {
    const asked: number[] = []
    const surface: PricedSurface = { length: 1_000, tokens: position => (asked.push(position), 10), openCalls: () => 0 }
    expect(retentionCut(surface, 30)).toBe(997)
    expect(asked).toEqual([999, 998, 997])
  })
})

describe('unreadCut', () => {
  it.each([
    ['keeps the newest answer with its results', 100, 'u50 a50 | ^ cc10 r30 r30'],
    ['keeps the messages after it as well', 100, 'u50 | ^ c10 r30 u20 u20'],
    ['keeps a final answer that nothing followed', 100, 'u50 | ^ a10'],
    ['keeps only the newest message where together they exceed the budget', 30, 'u50 ^ c10 r30 u20 | u20'],
    ['does not count results among the messages', 30, 'u50 | ^ c10 r500 u20'],
    ['keeps only the newest message where nothing was answered yet', 100, 'u50 u20 u20 | u20'],
    ['keeps a single entry', 100, '| u50'],
    ['keeps a step that is still open', 0, 'u50 | ^ cc10 r30'],
  ])('%s', (_title, retainTokens, text) => {
    const { surface, cut, answerPosition } = picture(text)
    expect(unreadCut(surface, answerPosition, retainTokens)).toBe(cut)
  })

  it('of an empty surface is its only cut', () => {
    expect(unreadCut({ length: 0, tokens: () => 0, openCalls: () => 0 }, undefined, 0)).toBe(0)
  })
})

function cutsOf(surface: PricedSurface): number[] {
  return Array.from({ length: surface.length + 1 }, (_, cut) => cut)
}

function tailTokens(surface: PricedSurface, cut: number): number {
  let tokens = 0
  for (let position = cut; position < surface.length; position++) tokens += surface.tokens(position)
  return tokens
}

function shown(surface: PricedSurface): string {
  return cutsOf(surface).map(cut => `${surface.openCalls(cut)} ${surface.tokens(cut) ?? ''}`).join(' ')
}

/** Every well-paired surface up to `length` entries, over small sizes. */
function* everySurface(length: number, drawn: string[] = [], open = 0): Generator<ReturnType<typeof picture>> {
  if (drawn.length > 0) yield picture(drawn.join(' '))
  if (drawn.length === length) return
  for (const size of [0, 2]) {
    if (open > 0) yield* everySurface(length, [...drawn, `r${size}`], open - 1)
    else for (const kind of ['u', 'c', 'cc']) {
      yield* everySurface(length, [...drawn, `${kind}${size}`], kind === 'u' ? 0 : kind.length)
    }
  }
}
