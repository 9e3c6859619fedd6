import type { PricedSurface } from '../src/retention.ts'

export interface Picture {
  readonly surface: PricedSurface
  /** Where the bar stands; null without one. */
  readonly cut: number | null
  /** Where the `^` stands; undefined without one. */
  readonly answerPosition: number | undefined
}

/**
 * Reads a surface drawn as text: `u50 cc10 r30 r30 | u20` is a user message of 50 tokens, an assistant message of 10 making two
 * calls, their two results, and a user message of 20. `a` is an assistant message without calls. The bar marks the expected
 * cut; a picture without one expects null. `^` stands before the newest answer, where one is told of.
 */
export function picture(text: string): Picture {
  const tokens: number[] = []
  const openCalls = [0]
  let cut: number | null = null
  let answerPosition: number | undefined
  for (const word of text.split(' ')) {
    if (word === '|') {
      cut = tokens.length
      continue
    }
    if (word === '^') {
      answerPosition = tokens.length
      continue
    }
    const [, kinds, size] = /^([ua]|c+|r)(\d+)$/.exec(word) ?? []
    if (kinds === undefined) throw new SyntaxError(`not a surface entry: ${word}`)
    const opened = kinds === 'r' ? -1 : kinds.startsWith('c') ? kinds.length : 0
    tokens.push(Number(size))
    openCalls.push(openCalls.at(-1)! + opened)
  }
  return {
    surface: { length: tokens.length, tokens: position => tokens[position]!, openCalls: at => openCalls[at]! },
    cut,
    answerPosition,
  }
}
