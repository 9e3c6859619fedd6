/**
 * Words: what a person said, inside the text that a tool made of it.
 *
 * Pure.
 */
import { textBlock, type TranscriptBuilder } from './builder.ts'

/**
 * Three inputs at most, in order: the tool's text before the words, the words, the text behind them. Where the words do not
 * stand in what was sent, all of it is the tool's.
 */
export function inputAround(builder: TranscriptBuilder, sent: string, words: string, line: number): void {
  const at = words.trim() === '' ? -1 : sent.lastIndexOf(words)
  const parts = [
    { text: at < 0 ? sent : sent.slice(0, at), from: 'context' },
    { text: at < 0 ? '' : words, from: 'person' },
    { text: at < 0 ? '' : sent.slice(at + words.length), from: 'context' },
  ] as const
  for (const { text, from } of parts) if (text.trim() !== '') builder.input([textBlock(text)], from, line)
}
