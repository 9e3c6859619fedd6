/**
 * Estimates: what text, blocks, messages and envelopes cost in tokens, without a tokenizer.
 *
 * Pure. Every price is a non-negative integer, and every price is linear in the length of what is priced.
 *
 * By default a text is priced by script, as a sum over its UTF-8 bytes: in ASCII each byte has its own weight, so that prose,
 * code, JSON and numbers differ by what they are written with; beyond ASCII the lead byte of a character tells its script and
 * carries the weight of the whole character. So a text costs what its parts cost, within rounding.
 */
import type { ContentBlock, ImageBlock, Message, ToolSchema } from '@deepseek-ai/dsh-llm'

export interface EstimatorOptions {
  /**
   * One density for every script instead, in UTF-16 code units a token; finite, positive, may be fractional. Then a text or a
   * reasoning block costs `ceil(chars / charsPerToken) + 4`, a call its name and arguments, a result what its content costs.
   */
  readonly charsPerToken?: number
  /**
   * A count of its own for every text instead, as a tokenizer gives it: non-negative integers, linear in the length, always the
   * same. What wraps text stays an estimate. Not together with `charsPerToken`.
   */
  readonly textTokens?: (text: string) => number
}

export interface Estimator {
  text(text: string): number
  block(block: ContentBlock): number
  message(message: Message): number
  /** Everything of a request that is not a message; 0 when there is neither a system prompt nor a tool. */
  envelope(system: string | undefined, tools: readonly ToolSchema[] | undefined): number
}

/** Tokens a kind of block or message costs beside its text. */
interface Overhead {
  readonly message: number
  readonly text: number
  readonly call: number
  readonly result: number
  readonly tool: number
}

/**
 * What chat templates and providers wrap around content: role marks, call and result tags, ids. From the same fit as the
 * weights below: a call with its result costs some 30–80 tokens beyond its text, where the upper end holds reminders that
 * tools append unseen, and it hardly matters how the two share them. A schema stands in a wrapper of some 20 characters.
 */
const STRUCTURE: Overhead = { message: 4, text: 0, call: 16, result: 24, tool: 8 }
const FIXED_DENSITY: Overhead = { message: 0, text: 4, call: 0, result: 0, tool: 0 }

/** Pixels a token: the published rule of one provider (width × height / 750); 512 × 320 images were measured at 250–300 tokens. */
const PIXELS_PER_TOKEN = 750
/** Providers scale images down before they count them; the largest price any of them states, in tokens. */
const MAX_IMAGE_TOKENS = 4_800
const MIN_IMAGE_TOKENS = 85
/** An image of unknown size: one that just fills the box (about 1.2 megapixels) most providers scale down to. */
const UNKNOWN_IMAGE_TOKENS = 1_600

/** @throws RangeError when `charsPerToken` is not a finite positive number, TypeError when both options are given. */
export function estimator({ charsPerToken, textTokens: counted }: EstimatorOptions = {}): Estimator {
  if (charsPerToken === undefined) return structural(counted ?? textTokens, STRUCTURE)
  if (counted !== undefined) throw new TypeError('charsPerToken and textTokens exclude each other')
  if (!Number.isFinite(charsPerToken) || charsPerToken <= 0) {
    throw new RangeError(`charsPerToken must be a finite positive number, not ${charsPerToken}`)
  }
  return structural(text => Math.ceil(text.length / charsPerToken), FIXED_DENSITY)
}

function structural(text: (text: string) => number, overhead: Overhead): Estimator {
  const block = (block: ContentBlock): number => {
    switch (block.type) {
      case 'text':
      case 'reasoning':
        return text(block.text) + overhead.text
      case 'tool-call':
        return text(block.name + block.arguments) + overhead.call
      case 'tool-result':
        return blocks(block.content) + overhead.result
      case 'image':
        return imageTokens(block)
      default:
        return text(JSON.stringify(block)) + overhead.text
    }
  }
  const blocks = (content: readonly ContentBlock[]): number => content.reduce((sum, part) => sum + block(part), 0)
  return {
    text,
    block,
    message: ({ content }) => blocks(content) + overhead.message,
    envelope(system, tools = []) {
      let tokens = system === undefined ? 0 : text(system) + overhead.text + overhead.message
      for (const tool of tools) tokens += text(JSON.stringify(tool)) + overhead.tool
      return tokens
    },
  }
}

/** The price of an image by its size, whatever its bytes; integer. */
export function imageTokens({ width, height }: Pick<ImageBlock, 'width' | 'height'>): number {
  const pixels = (width ?? Number.NaN) * (height ?? Number.NaN)
  if (!(pixels > 0)) return UNKNOWN_IMAGE_TOKENS
  return Math.max(MIN_IMAGE_TOKENS, Math.min(MAX_IMAGE_TOKENS, Math.ceil(pixels / PIXELS_PER_TOKEN)))
}

/**
 * Hundredths of a token a character, by script.
 *
 * Method: least absolute relative error over the growth of the prompt, as reported by the provider, between successive
 * requests of recorded coding sessions (978 differences of at least 300 tokens in 19 recordings; models of five families),
 * solved together with one density a recording, then rounded and kept a little dear. What it is worth, as `bench/meter.ts`
 * prints it: a difference of at least 1,000 tokens is met within 13 % (median of 573), against 25 % at four characters a
 * token. The recordings hold little beyond English, code and Chinese; the other scripts stand inside the range of what two
 * public byte-pair vocabularies (100k and 200k entries) charge for sample sentences, given with each.
 */
const HUNDREDTHS = {
  lower: 24,
  upper: 35,
  digit: 85,
  space: 10,
  tab: 30,
  newline: 90,
  /** Quotes, brackets, operators: what makes JSON and code dearer than prose. */
  punctuation: 45,
  control: 100,
  /** Accented Latin, Greek, Cyrillic, Hebrew, Arabic: 29–100, least for Cyrillic. */
  alphabet: 50,
  /** Indic scripts, Thai and their neighbours: 35–100. */
  abugida: 80,
  /** Dashes, arrows, box drawing. Runs of them are nearly free, single ones cost a token: 6–70. */
  symbol: 30,
  /** Chinese and Japanese: 67–109. */
  cjk: 90,
  /** 58–89. */
  hangul: 80,
  /** Emoji and rare ideographs: two code units each. */
  astral: 200,
} as const

function hundredthsOf(byte: number): number {
  if (byte >= 0xf0) return HUNDREDTHS.astral
  if (byte >= 0xee) return HUNDREDTHS.cjk // U+E000–FFFF: full-width forms
  if (byte >= 0xea) return HUNDREDTHS.hangul
  if (byte >= 0xe3) return HUNDREDTHS.cjk // U+3000–9FFF
  if (byte === 0xe2) return HUNDREDTHS.symbol // U+2000–2FFF
  if (byte >= 0xe0) return HUNDREDTHS.abugida // U+0800–1FFF
  if (byte >= 0xc0) return HUNDREDTHS.alphabet // U+0080–07FF
  if (byte >= 0x80) return 0 // continues a character that is paid for
  if (byte >= 0x61 && byte <= 0x7a) return HUNDREDTHS.lower
  if (byte >= 0x41 && byte <= 0x5a) return HUNDREDTHS.upper
  if (byte >= 0x30 && byte <= 0x39) return HUNDREDTHS.digit
  if (byte === 0x20) return HUNDREDTHS.space
  if (byte === 0x0a) return HUNDREDTHS.newline
  if (byte === 0x09) return HUNDREDTHS.tab
  if (byte < 0x20 || byte === 0x7f) return HUNDREDTHS.control
  return HUNDREDTHS.punctuation
}

/**
 * The weight of two neighbouring bytes, whichever comes first: two bytes a look-up halve the loop, which makes 2 KB of ASCII
 * cost about a microsecond.
 */
const PAIR_HUNDREDTHS = Uint16Array.from({ length: 0x1_0000 }, (_, pair) => hundredthsOf(pair & 0xff) + hundredthsOf(pair >> 8))

/** Continues a character and so weighs nothing: fills up an odd number of bytes. */
const FREE_BYTE = 0x80
/** Code units encoded at a time: bounds the scratch memory, and UTF-8 needs at most three bytes for each. */
const CHUNK_UNITS = 8_192
const encoder = new TextEncoder()
/** Scratch memory of one call of {@link textTokens}; nothing in it outlives the call. */
const bytes = new Uint8Array(CHUNK_UNITS * 3 + 2)
const pairs = new Uint16Array(bytes.buffer)

/** The price of a text by script; integer, 0 for an empty text only. */
export function textTokens(text: string): number {
  let hundredths = 0
  for (let start = 0; start < text.length; ) {
    const end = chunkEnd(text, start)
    const { written } = encoder.encodeInto(text.slice(start, end), bytes)
    bytes[written] = FREE_BYTE
    const pairCount = (written + 1) >> 1
    for (let pair = 0; pair < pairCount; pair++) hundredths += PAIR_HUNDREDTHS[pairs[pair]!]!
    start = end
  }
  return Math.ceil(hundredths / 100)
}

/** Where the chunk that starts at `start` ends, without parting a surrogate pair. */
function chunkEnd(text: string, start: number): number {
  const end = start + CHUNK_UNITS
  if (end >= text.length) return text.length
  const isHighSurrogate = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return isHighSurrogate ? end - 1 : end
}
