/**
 * aider: a chat history in Markdown. `#### ` begins a line of the person, `> ` one of the screen; the rest is what the model
 * said.
 *
 * Pure. aider ends what it writes itself in two spaces, which tells it from a heading or a quotation of the model; an output of
 * several lines has its mark at the first and its spaces at the last. Every start of aider is a conversation of its own, and so is what follows `/clear`. Files in the chat, and what was looked up in the
 * repository, were sent but do not stand in the history.
 */
import { textBlock, type AnswerDraft, type TranscriptBuilder } from './builder.ts'
import type { TextFormat } from './format.ts'

const START = /^# aider chat started at /
/** Commands whose text is sent to the model. */
const ASKING = /^\/(ask|code|architect)\s+(?=\S)/
const CLEARING = /^\/(clear|reset)\b/
const MODEL = /^(?:Models?|Main model): (\S+) with /
/** What aider puts to the model in the name of the person. */
const CONTEXT_START = /^# Fix any errors below, if possible\./

type Kind = 'person' | 'screen' | 'model'

export const aiderHistory: TextFormat = {
  name: 'aider-history',
  expected: 'an aider chat history (Markdown with a line "# aider chat started at …")',

  claims(text) {
    return /^# aider chat started at /m.test(text)
  },

  read(text, builder) {
    const lines = text.split('\n').map(line => line.replace(/\r$/, ''))
    const reader = new Reader(builder)
    let outputEnd = -1
    for (const [index, line] of lines.entries()) {
      if (index > outputEnd && /^> .*\S ?$/.test(line)) outputEnd = endOfOutput(lines, index)
      if (index <= outputEnd) reader.screenLine(line, index + 1)
      else reader.line(line, index + 1)
    }
    reader.close()
    return builder.finish()
  },
}

/**
 * The last line of an output that begins here, perhaps cut off by the end of the file; -1 where the model quotes something, for
 * then what ends next has a mark of its own.
 */
function endOfOutput(lines: readonly string[], start: number): number {
  for (let end = start + 1; end < lines.length; end++) {
    const line = lines[end]!
    if (START.test(line) || /^(>|####) .*\S {2}$/.test(line)) return -1
    if (/\S {2}$/.test(line)) return end
  }
  return lines.length - 1
}

class Reader {
  private readonly builder: TranscriptBuilder
  private block: { readonly kind: Kind; readonly line: number; readonly lines: string[] } | null = null
  private model: string | undefined
  private begun = false
  /** The last answer, until the screen says anything but that it was stopped. */
  private unfinished: AnswerDraft | null = null

  constructor(builder: TranscriptBuilder) {
    this.builder = builder
  }

  line(line: string, at: number): void {
    if (START.test(line)) return this.begin(at)
    const [, mark, own] = /^(####|>)(?: (.*?))? {2}$/.exec(line) ?? []
    if (mark === '####') this.add('person', own ?? '', at)
    else if (mark === '>') this.screenLine(own ?? '', at)
    else if (line !== '' || this.block?.kind === 'model') this.add('model', line, at)
    else this.close()
  }

  close(): void {
    const { block, builder } = this
    this.block = null
    if (block === null) return
    const text = block.lines.join('\n').trim()
    if (block.kind === 'person') this.person(text, block.line)
    else if (block.kind === 'screen') builder.skip('line of the screen', block.line, block.lines.length)
    else if (text !== '' && !this.begun) builder.skip('text before the first start of aider', block.line)
    else if (text !== '') this.unfinished = builder.answer({ content: [textBlock(text)], line: block.line, model: this.model })
  }

  private begin(line: number): void {
    this.close()
    this.begun = true
    this.unfinished = null
    this.builder.beginConversation(line)
  }

  private add(kind: Kind, text: string, at: number): void {
    if (this.block?.kind !== kind) {
      this.close()
      this.block = { kind, line: at, lines: [] }
    }
    this.block!.lines.push(text)
  }

  screenLine(text: string, at: number): void {
    this.add('screen', text, at)
    this.model = MODEL.exec(text)?.[1] ?? this.model
    if (this.unfinished === null || text.trim() === '') return
    if (text.startsWith('^C')) this.unfinished.interrupted = true
    this.unfinished = null
  }

  private person(text: string, line: number): void {
    const words = text.replace(ASKING, '')
    this.unfinished = null
    if (/^[/!]/.test(words)) {
      this.builder.skip('command of the person', line)
      if (CLEARING.test(words)) this.begin(line)
    } else this.builder.input([textBlock(words)], CONTEXT_START.test(words) ? 'context' : 'person', line)
  }
}
