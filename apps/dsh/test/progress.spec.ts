import { expect, it } from 'vitest'
import { Progress, type ProgressStream } from '../src/progress.ts'

/** What a stream was written. */
function listen(isTTY: boolean): ProgressStream & { readonly written: string[] } {
  const written: string[] = []
  return { isTTY, written, write: text => written.push(text) }
}

const at = (answers: number) => ({ answers, of: 9, tokens: 1_500, compactions: 2 })

it('is one live line on a terminal, and leaves none behind', () => {
  const stream = listen(true)
  const progress = new Progress(stream)
  for (let answers = 0; answers < 9; answers++) progress.tell(at(answers))
  progress.done()
  expect(stream.written[0]).toBe('\r\u001b[Kreplaying: 0 of 9 answers, 1.5k tokens in the last request, 2 compactions')
  expect(stream.written.join('')).not.toContain('\n')
  expect(stream.written.at(-1)).toBe('\r\u001b[K')
})

it('says nothing elsewhere of what is over soon', () => {
  const stream = listen(false)
  const progress = new Progress(stream)
  for (let answers = 0; answers < 9; answers++) progress.tell(at(answers))
  progress.done()
  expect(stream.written).toEqual([])
})
