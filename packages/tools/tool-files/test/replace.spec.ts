import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyEdits } from '../src/replace.ts'
import { decodeText, encodeText, replaceAll, replaceInView, viewOf } from '../src/text.ts'

const raw = (result: ReturnType<typeof applyEdits>) => ('raw' in result ? result.raw : `refused: ${result.refusal}`)
const refusal = (text: string, ...edits: Parameters<typeof applyEdits>[1]) => (applyEdits(text, edits) as { refusal: string }).refusal

describe('a file', () => {
  const part = fc.constantFrom('a', 'b', 'é', '👍', '\n', '\r\n', '\r', ' ')
  const content = fc.array(part, { maxLength: 30, size: 'max' }).map(parts => parts.join(''))

  it('is the same after it was read and written', () => {
    fc.assert(fc.property(content, fc.boolean(), (text, bom) => {
      const bytes = Buffer.from((bom ? '\uFEFF' : '') + text)
      expect(encodeText(decodeText(bytes)!)).toEqual(bytes)
    }), { seed: 7 })
  })

  it('is no text with a zero byte, or with bytes that are no UTF-8', () => {
    expect(decodeText(Buffer.from('a\0b'))).toBeNull()
    expect(decodeText(Buffer.from('é', 'latin1'))).toBeNull()
  })

  it('changes, in the view and in itself, where the view is changed, and nowhere else', () => {
    fc.assert(fc.property(content, fc.nat(), fc.nat(), (text, one, other) => {
      const view = viewOf(text)
      const [start, end] = [one % (view.length + 1), other % (view.length + 1)].sort((a, b) => a - b) as [number, number]
      const changed = replaceInView(text, start, end, 'X')
      expect(viewOf(changed)).toBe(`${view.slice(0, start)}X${view.slice(end)}`)
      const at = changed.indexOf('X')
      expect(text.startsWith(changed.slice(0, at))).toBe(true)
      expect(text.endsWith(changed.slice(at + 1))).toBe(true)
    }), { seed: 8, numRuns: 3_000 })
  })

  it.each([
    ['keeps its line ends when it is edited', 'a\r\nb\r\nc\r\n', { old: 'a\nb', new: 'x\ny\nz' }, 'x\r\ny\r\nz\r\nc\r\n'],
    ['gives every place its own line ends', 'a\nb\r\nc\n', { old: 'b', new: 'x\ny' }, 'a\nx\r\ny\r\nc\n'],
    ['takes line ends as the model writes them', 'a\nb\n', { old: 'a\r\nb', new: 'x\r\ny' }, 'x\ny\n'],
  ])('%s', (_title, text, edit, expected) => {
    expect(raw(applyEdits(text, [edit]))).toBe(expected)
  })

  it('keeps byte order mark and line ends when all of it is written anew, unless the new text brings its own', () => {
    const old = { bom: true, raw: 'a\r\nb\r\n' }
    expect(replaceAll(old, 'x\ny\n')).toEqual({ bom: true, raw: 'x\r\ny\r\n' })
    expect(replaceAll({ bom: false, raw: 'a\n' }, 'x\r\n')).toEqual({ bom: false, raw: 'x\r\n' })
  })
})

describe('edits', () => {
  it('are made one after the other', () => {
    expect(raw(applyEdits('one two', [{ old: 'one', new: 'two three' }, { old: 'three two', new: 'four' }]))).toBe('two four')
  })

  it('of every occurrence leave none of those that were there', () => {
    expect(raw(applyEdits('aaaa b aa', [{ old: 'aa', new: 'a', all: true }]))).toBe('aa b a')
  })

  it('made back are as if none had been made', () => {
    let undone = 0
    const letters = fc.array(fc.constantFrom('a', 'b', 'c', '\n'), { minLength: 1, maxLength: 12 }).map(parts => parts.join(''))
    fc.assert(fc.property(letters, letters, letters, fc.boolean(), (text, old, next, crlf) => {
      const file = crlf ? text.replaceAll('\n', '\r\n') : text
      const edited = applyEdits(file, [{ old, new: next }])
      if (!('raw' in edited)) return
      const back = applyEdits(edited.raw, [{ old: next, new: old }])
      if (!('raw' in back)) return // the new text was there before
      undone += 1
      if (viewOf(edited.raw).includes('\n') || !crlf) expect(back.raw).toBe(file)
    }), { seed: 9, numRuns: 20_000 })
    expect(undone).toBeGreaterThan(200)
  })
})

describe('a refusal', () => {
  const text = 'function one() {\n  return 1\n}\n\nfunction two() {\n  return 2\n}\n'

  it.each([
    ['says how often the text is there, and where', { old: 'return', new: 'x' }, 'The old text is there 2 times, at lines 2, 6. Give more'],
    ['shows what differs in white space only', { old: 'function two() {\n    return 2\n}', new: 'x' }, 'only with other white space. Nearest to it, at lines 5 to 7, is:\nfunction two() {\n  return 2\n}\n'],
    ['shows what is nearest', { old: '  return 2;', new: 'x' }, 'The old text is not in the file. Nearest to it, at line 6, is:\n  return 2\n'],
    ['says when nothing is near', { old: 'class Three', new: 'x' }, 'nor anything like it. Read the file again.'],
    ['says when nothing would change', { old: 'return 1', new: 'return 1' }, 'are the same'],
  ])('%s', (_title, edit, expected) => {
    expect(refusal(text, edit)).toContain(expected)
  })

  it('names the edit, and that none was made', () => {
    const reason = refusal(text, { old: 'return 1', new: 'return 3' }, { old: 'return 1', new: 'x' })
    expect(reason).toMatch(/^Edit 2 of 2: The old text is not[^]*None of the edits was made\.$/)
  })
})
