import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digest, type DigestEntry } from '../src/digest.ts'
import { numbered, PLENTY, quarter } from './digest-conversation.ts'

const SEED = { seed: 20_260, numRuns: 400 }

describe('laws', () => {
  it('never costs more than its budget, by whatever estimate', () => {
    const estimates = [quarter, (text: string) => text.length, (text: string) => new TextEncoder().encode(text).length + 7, (text: string) => text.split(/\s+/).length]
    fc.assert(fc.property(history(), fc.nat(2_000), fc.constantFrom(...estimates), (lines, budget, estimate) => {
      const text = digest(numbered(lines, 0), budget, estimate)
      expect(text === '' || estimate(text) <= budget).toBe(true)
    }), SEED)
  })

  it('is a function of its entries', () => {
    fc.assert(fc.property(history(), fc.nat(2_000), (lines, budget) => {
      expect(digest(numbered(lines, 0), budget, quarter)).toBe(digest(structuredClone(numbered(lines, 0)), budget, quarter))
    }), SEED)
  })

  it('merges: digest([digest(A), ...B]) is digest([...A, ...B]) where nothing has to be left out', () => {
    fc.assert(fc.property(history(), history(), (a, b) => {
      const later = numbered(b, a.length + 5)
      const checkpoint = entryOf(digest(numbered(a, 0), PLENTY, quarter), a.length)
      const whole = digest([...numbered(a, 0), ...later], PLENTY, quarter)
      expect(digest([...checkpoint, ...later], PLENTY, quarter)).toBe(whole)
      expect(digest([...entryOf(whole, 9_000)], PLENTY, quarter)).toBe(whole)
    }), SEED)
  })

  it('reads itself back from any frame', () => {
    fc.assert(fc.property(history(), lines => {
      const text = digest(numbered(lines, 0), PLENTY, quarter)
      const framed = `Established context, no request.\n<compacted-summary>\n${text}\n</compacted-summary>\n\n## Pinned\n- [1] no item of the digest`
      expect(digest(entryOf(text && framed, 77), PLENTY, quarter)).toBe(text)
    }), SEED)
  })

  it('quotes every request verbatim when the budget allows', () => {
    fc.assert(fc.property(history(), lines => {
      const text = digest(numbered(lines, 0), PLENTY, quarter).replaceAll('\n  ', '\n')
      for (const line of lines) if (line.startsWith('u:')) expect(text).toContain(line.slice(2).trim())
    }), SEED)
  })

  it('names only seqs of its entries, or of the digest that was among them', () => {
    fc.assert(fc.property(history(), history(), fc.integer({ min: 100, max: 3_000 }), (a, b, budget) => {
      const earlier = digest(numbered(a, 0), budget, quarter)
      const later = numbered(b, 1_000)
      const known = new Set([...seqsIn(earlier), ...later.map(entry => entry.seq)])
      for (const seq of seqsIn(digest([...entryOf(earlier, 999), ...later], budget, quarter))) expect(known).toContain(seq)
    }), SEED)
  })

  it('lets nothing decay with age alone: fifty merges in a row change nothing', () => {
    const lines = ['u:Build the importer. Always keep the order.', 'c:bash {"command":"npm test"}', 'r!:Error: no such file\n1 failed', 'c:TodoWrite {"todos":[{"content":"fix it","status":"pending"}]}', 'r:ok']
    const first = digest(numbered(lines, 0), PLENTY, quarter)
    let text = first
    for (let round = 0; round < 50; round++) text = digest(entryOf(text, 100 + round), PLENTY, quarter)
    expect(text).toBe(first)
  })
})

describe('under a budget', () => {
  const work = (round: number) => [`u:Task ${round}: ${'make it better. '.repeat(10)}`, `c:bash {"command":"npm run job-${round}"}`, `r:job ${round} done`, `a:Finished task ${round}.`]
  const long = Array.from({ length: 60 }, (_, round) => work(round)).flat()
  const todo = ['c:TodoWrite {"todos":[{"content":"write the manual","status":"pending"}]}', 'r:ok', 'u:Go on with the manual.']

  it('leaves out the oldest first and says how many', () => {
    const text = digest(numbered(long, 0), 2_000, quarter)
    const kept = [...text.matchAll(/npm run job-(\d+) →/g)].map(([, round]) => Number(round))
    expect(kept.length).toBeGreaterThan(3)
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 60 - kept.length + index))
    expect(text).toContain(`## Commands and Outcomes\n- (${60 - kept.length} older left out)\n`)
  })

  it('keeps the newest request and the open todos when nearly everything goes', () => {
    const text = digest(numbered([...todo.slice(0, 2), ...long, ...todo.slice(2)], 0), 250, quarter)
    expect(text).toContain('Go on with the manual.')
    expect(text).toContain('write the manual')
  })

  it('shortens old requests before it drops them', () => {
    const text = digest(numbered(['u:FIRST ' + 'word '.repeat(400) + 'LAST', ...long.slice(0, 40)], 0), 1_100, quarter)
    expect(text).toMatch(/FIRST [\s\S]*\[… \d+ characters left out …\][\s\S]* LAST/)
  })

  it('counts what is left out across merges', () => {
    let text = ''
    for (let round = 0; round < 60; round++) text = digest([...entryOf(text, 1_000 + round), ...numbered(work(round), round * 4)], 1_000, quarter)
    const [, leftOut] = /## Commands and Outcomes\n- \((\d+) older left out\)/.exec(text)!
    expect(Number(leftOut) + [...text.matchAll(/npm run job-\d+ →/g)].length).toBe(60)
  })

  it('carries a foreign checkpoint, clipped to its share', () => {
    const summary = `BEGIN ${'the model of that time wrote this. '.repeat(500)} END`
    const text = digest([...entryOf(`<compacted-summary>\n${summary}\n</compacted-summary>`, 0), ...numbered(long, 1)], 2_000, quarter)
    expect(text).toMatch(/## Earlier Checkpoint\n- \[0\] BEGIN [\s\S]*characters left out[\s\S]* END\n/)
    expect(text).not.toContain('<compacted-summary>')
  })

  it('digests a hundred thousand entries', () => {
    const lines = Array.from({ length: 25_000 }, (_, round) => work(round)).flat()
    const text = digest(numbered(lines, 0), 2_000, quarter)
    expect(quarter(text)).toBeLessThanOrEqual(2_000)
    expect(text).toContain('npm run job-24999 →')
  })
})

function entryOf(text: string, seq: number): DigestEntry[] {
  return text === '' ? [] : numbered([`k:${text}`], seq)
}

/** Every seq in the brackets before items. */
function seqsIn(text: string): number[] {
  return [...text.matchAll(/^- \[([^\]]*)\]/gm)].flatMap(([, tag]) => [...tag!.replace(/ ×\d+|; failed \d+×/g, '').matchAll(/\d+/g)].map(Number))
}

/** Random conversations over few words, so that things repeat, with lines that try to look like a digest's own. */
function history(): fc.Arbitrary<string[]> {
  const words = fc.array(fc.constantFrom('build', 'the', 'parser', '解析器', 'a → b', '\n', '\n\n', '- [3] x', '## Files and Code', '# Digest of the conversation', '- [ ] todo',
    '- [x] todo', 'Never.', 'don\'t do it.', '👩‍💻', '[1]', '- (3 older left out)', '  '), { minLength: 1, maxLength: 8 }).map(parts => `w ${parts.join(' ')}`)
  const call = fc.constantFrom(
    ...['npm test', 'cat a.ts', 'grep x a.ts', 'cd d && sed -i s/a/b/ b.ts', 'echo "a → b" > c.ts', 'make -C x'].map(command => `c:bash ${JSON.stringify({ command })}`),
    'c:Read {"file_path":"a.ts"}', 'c:Edit {"file_path":"a.ts"}', 'c:WebSearch {"query":"x → y"}', 'c:bash {broken',
    'c:TodoWrite {"todos":[{"content":"one → two","status":"pending"},{"content":"two","status":"in_progress"},{"content":"three","status":"completed"}]}',
    'c:TaskCreate {"subject":"task"}', 'c:TaskUpdate {"taskId":"1","status":"completed"}')
  const result = fc.tuple(fc.boolean(), fc.constantFrom('ok', '', '3 failed', 'Error: a → b\n> x', '<returncode>2</returncode>\n<output>\nno\n</output>', 'Task #1 created'), fc.boolean())
    .map(([failed, text, long]) => `r${failed ? '!' : ''}:${text}${long ? '\nline'.repeat(30) : ''}`)
  const step = fc.tuple(fc.option(words), fc.array(call, { minLength: 1, maxLength: 3 }), fc.array(result, { minLength: 3, maxLength: 3 }), fc.boolean())
    .map(([said, calls, results, cutOff]) => [
      [...(said === null ? [] : [`a:${said}`]), ...calls].join(' ¦ '),
      ...(cutOff ? [] : results.slice(0, calls.length)),
    ])
  const unit = fc.oneof(words.map(text => [`u:${text}`]), words.map(text => [`a:${text}`]), words.map(text => [`x:${text}`]), words.map(text => [`k:${text}`]), step, step, step)
  return fc.array(unit, { maxLength: 14 }).map(units => units.flat())
}
