/** Arbitrary words: of every width, with everything in them that a terminal would act on. */
import fc from 'fast-check'

const NASTY = [
  'plain words', '你好，世界', '한국어', '🎉', '👩‍💻', '👨‍👩‍👧‍👦', '🇩🇪', 'e\u0301', 'ｆｕｌｌ', '\t', '\n', '\r', '\r\n', '\u001b[31mred\u001b[0m', '\u001b[2J', '\u001b]0;title\u0007', '\u001b]8;;http://x\u001b\\link',
  '\u001b[', '\u001b', '\u009b31m', '\u0000', '\u0008', '\u007f', '\u200b', '\u202e', '\ufeff', '\ud800', 'x'.repeat(300), '# head', '- item', '```ts', '| a | b |\n|---|---|\n| 1 | 2 |', '> quote', '**bold', '`code`', '1. one', '[a](http://b)', '$1', '\u2028',
]

export const words = fc.array(fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: 'grapheme', maxLength: 12 })), { maxLength: 12 }).map(parts => parts.join(''))
export const widths = fc.integer({ min: 4, max: 120 })
export const RUNS = { numRuns: 200, seed: 7 }
