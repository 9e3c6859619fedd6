/**
 * Summarizer faults: every way in which models have been seen to answer who asks them for a summary.
 *
 * Pure.
 */
import type { ContentBlock, GenerateOptions } from '@deepseek-ai/dsh-llm'
import type { RecordedAnswer } from '@deepseek-ai/dsh-llm-recorded'

/** @param sensible what it should have said. */
type Misbehave = (sensible: string, request: GenerateOptions) => RecordedAnswer

const text = (words: string): ContentBlock => ({ type: 'text', text: words })
const CALL: ContentBlock = { type: 'tool-call', id: 'stray', name: 'look', arguments: '{}' }

export const FAULTS = {
  'empty': () => ({ content: [] }),
  'whitespace': () => ({ content: [text(' \n\t')] }),
  'reasoning': sensible => ({ content: [{ type: 'reasoning', text: sensible }] }),
  'truncated': sensible => ({ content: [text(sensible.slice(0, 300))], finish: 'max-tokens' }),
  'filtered': sensible => ({ content: [text(sensible.slice(0, 300))], finish: 'content-filter' }),
  'tool-call': () => ({ content: [CALL] }),
  'text-and-tool-call': sensible => ({ content: [text(sensible), CALL] }),
  'image': sensible => ({ content: [text(sensible), { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }] }),
  'long': (_sensible, { maxTokens = 1_000 }) => ({ content: [text(`## Everything\n${'and so on, '.repeat(maxTokens)}`)] }),
  'short': () => ({ content: [text('OK.')] }),
  'error': () => ({ failure: { code: 'SERVER', message: 'bad gateway' } }),
  'overflow': () => ({ failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'prompt is too long' } }),
  'slow': () => ({ content: [], interrupted: true }),
} satisfies Record<string, Misbehave>

export type SummarizerFault = keyof typeof FAULTS
export const SUMMARIZER_FAULTS = Object.keys(FAULTS) as readonly SummarizerFault[]
