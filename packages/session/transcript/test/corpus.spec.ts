/**
 * Real conversation logs, where they are at hand: `../shared/corpus` beside the repository.
 *
 * The figures are those that the collection states for each file, as far as they count the same thing; where they do not,
 * the row says why. Errors of Codex are commands that failed, by the exit code that stands in their output; the collection
 * counts none, because the log has no flag for them.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { importTranscript } from '../src/index.ts'
import type { AnswerItem, Transcript, TranscriptFormat } from '../src/index.ts'
import { claimants } from './claims.ts'
import { lawsBroken } from './laws.ts'
import { skips } from './sketch.ts'

const CORPUS = join(dirname(fileURLToPath(import.meta.url)), '../../../../../shared/corpus')

interface Figures {
  /** Answers, after the lines or items of one request were merged. */
  answers: number
  person: number
  context: number
  toolCalls: number
  usagePoints: number
  peakTokens: number
  compactions?: number
  images?: number
  interrupted?: number
  errors?: number
  unanswered?: number
  mostParallel?: number
}

/** The third is the format where the folder has another name. */
const FILES: [name: string, figures: Figures, format?: TranscriptFormat][] = [
  ['claude-code/cc-opus45-2compactions.jsonl', {
    answers: 219, person: 13, context: 2, toolCalls: 224, usagePoints: 219, peakTokens: 155_412,
    compactions: 2, interrupted: 1, errors: 2, mostParallel: 2, // 1 of the errors is a rejection by the person
  }],
  ['claude-code/cc-opus46-images-compaction.jsonl', {
    // 9 images: the collection's 18 count the copies for the screen too. Its interruption came before any answer.
    answers: 82, person: 8, context: 15, toolCalls: 88, usagePoints: 82, peakTokens: 132_151, compactions: 1, images: 9, errors: 4, mostParallel: 4,
  }],
  ['codex-rollout/codex-spark-2compactions.jsonl', {
    answers: 180, person: 10, context: 2, toolCalls: 177, usagePoints: 180, peakTokens: 96_092, compactions: 2, errors: 16, mostParallel: 4,
  }],
  ['codex-rollout/codex-gpt54-orphan-calls.jsonl', {
    // The last answer was recorded before its usage was.
    answers: 11, person: 2, context: 2, toolCalls: 23, usagePoints: 10, peakTokens: 29_343, errors: 3, unanswered: 2, mostParallel: 4,
  }],
  ['pi-session/pi-opus45-2compactions.jsonl', {
    // 454 calls and 471 usages stand in the file: 5 calls were cut off with their answers, which left one answer empty.
    // Of 18 aborted answers and a failed one, 14 had said nothing.
    answers: 470, person: 55, context: 3, toolCalls: 449, usagePoints: 470, peakTokens: 184_915,
    compactions: 2, interrupted: 5, errors: 12, unanswered: 1, mostParallel: 4,
  }],
  ['mini-swe-agent-traj/mini-deepseek-sqlfluff-1517.traj.json', {
    answers: 113, person: 1, context: 0, toolCalls: 113, usagePoints: 113, peakTokens: 68_339, errors: 20, unanswered: 1,
  }],
  ['claude-code/cc-opus45-small.jsonl', { answers: 19, person: 4, context: 0, toolCalls: 28, usagePoints: 19, peakTokens: 67_217, mostParallel: 3 }],
  ['claude-code/cc-opus46-cjk-interrupts.jsonl', {
    // Both interruptions came while a tool waited for consent: its result says so, and no answer was cut off.
    answers: 38, person: 7, context: 8, toolCalls: 37, usagePoints: 38, peakTokens: 69_041, errors: 5, mostParallel: 3,
  }],
  ['claude-code/cc-sonnet46-cjk-subagents.jsonl', {
    answers: 29, person: 3, context: 0, toolCalls: 39, usagePoints: 29, peakTokens: 45_251, errors: 2, mostParallel: 4,
  }],
  ['claude-code/cc-opus5-long-compaction.jsonl', {
    // The file begins at its boundary: the summary is its first input.
    answers: 374, person: 9, context: 36, toolCalls: 366, usagePoints: 374, peakTokens: 355_923, errors: 12,
  }],
  ['claude-code/cc-viewer-mock-v1x.jsonl', {
    // The collection's 167 calls and 170 usages, and its peak of 42,726, are mostly those of sub-agents.
    answers: 9, person: 1, context: 2, toolCalls: 11, usagePoints: 9, peakTokens: 21_552, mostParallel: 3,
  }],
  ['codex-rollout/codex-gpt55-images-2compactions.jsonl', {
    answers: 182, person: 11, context: 10, toolCalls: 311, usagePoints: 182, peakTokens: 240_512,
    compactions: 2, images: 4, errors: 14, mostParallel: 5,
  }],
  ['codex-rollout/codex-gpt55-small.jsonl', { answers: 40, person: 5, context: 2, toolCalls: 83, usagePoints: 40, peakTokens: 55_283, errors: 1, mostParallel: 5 }],
  ['gemini-cli-chat/gemini3pro-268msgs.json', {
    // The 3 errors are calls that the person cancelled; the collection counts them as interruptions.
    answers: 219, person: 44, context: 0, toolCalls: 181, usagePoints: 219, peakTokens: 152_408, errors: 3,
  }],
  ['opencode-export/opencode-gpt53-compaction.json', {
    // The 35th usage is that of the request for the summary.
    answers: 34, person: 4, context: 1, toolCalls: 47, usagePoints: 34, peakTokens: 118_767, compactions: 1, errors: 1, mostParallel: 3,
  }],
  ['kimi-wire/kimi-wire-100msgs.jsonl', { answers: 15, person: 2, context: 0, toolCalls: 28, usagePoints: 15, peakTokens: 56_937, mostParallel: 4 }],
  ['kimi-wire/kimi-context-100msgs.jsonl', {
    // The collection's 44 usages and its peak of 64,014 include the counts behind each answer.
    answers: 22, person: 3, context: 0, toolCalls: 34, usagePoints: 22, peakTokens: 63_363, mostParallel: 4,
  }, 'kimi-context'],
  ['openhands-output/openhands-multiswe-2runs.jsonl', {
    // The compaction is the boundary between the runs. Both end in a call of `finish`, which nothing answers.
    answers: 56, person: 2, context: 2, toolCalls: 56, usagePoints: 56, peakTokens: 33_459, compactions: 1, errors: 7, unanswered: 2,
  }],
  ['openhands-output/openhands-resolver-old-events.jsonl', { answers: 26, person: 2, context: 0, toolCalls: 26, usagePoints: 0, peakTokens: 0, compactions: 1, unanswered: 2 }],
  ['swe-agent-traj/sweagent-marshmallow-function-calling.traj', {
    // The collection's 9 calls are those of different ids.
    answers: 13, person: 1, context: 0, toolCalls: 13, usagePoints: 0, peakTokens: 0,
  }],
  ['swe-agent-traj/sweagent-ctf-web-demo.traj', { answers: 21, person: 1, context: 20, toolCalls: 0, usagePoints: 0, peakTokens: 0, mostParallel: 0 }],
  ['tau-bench/tau-gpt4o-airline-dev.json', {
    // 14 runs, hence 13 boundaries. 221 calls stand in the file, each with its result; the collection says 195.
    answers: 331, person: 124, context: 0, toolCalls: 221, usagePoints: 0, peakTokens: 0, compactions: 13,
  }],
  ['copilot-chatreplay/vscode-chatreplay.json', {
    // Each of the two messages of the person stands between two texts of the tool; the fifth is what it says of the workspace.
    answers: 4, person: 2, context: 5, toolCalls: 2, usagePoints: 4, peakTokens: 19_372,
  }],
  ['dsh-session/dsh-goal-multi-turn.jsonl', {
    // Nobody speaks in it: a goal that was set by a command drives the turns.
    answers: 12, person: 0, context: 4, toolCalls: 11, usagePoints: 12, peakTokens: 10_935, mostParallel: 2,
  }, 'deepseek-harness'],
  ['aider-history/aider-chat-history-excerpt.md', {
    // 167 conversations: a start of aider in which nothing was said is none, and what follows a /clear is another.
    answers: 153, person: 227, context: 1, toolCalls: 0, usagePoints: 0, peakTokens: 0, compactions: 166, interrupted: 1, mostParallel: 0,
  }],
  ['copilot-cli-events/copilot-sonnet46.jsonl', {
    // The one message of the person stands between two texts of the tool; the third is a notification.
    answers: 54, person: 1, context: 3, toolCalls: 68, usagePoints: 0, peakTokens: 0, errors: 1, mostParallel: 2,
  }],
]

for (const [name, figures, format = name.split('/')[0]] of FILES) {
  const path = join(CORPUS, name)
  it.skipIf(!existsSync(path))(`${name}${existsSync(path) ? '' : ' (skipped: the collection is not at hand)'}`, () => {
    const text = readFileSync(path, 'utf8')
    const transcript = importTranscript(text, name)
    expect(transcript.format).toBe(format)
    expect(claimants(text)).toEqual([format])
    expect(lawsBroken(transcript)).toEqual([])
    const defaults = { compactions: 0, images: 0, interrupted: 0, errors: 0, unanswered: 0, mostParallel: 1 }
    expect(figuresOf(transcript)).toEqual({ ...defaults, ...figures })
    if (name.startsWith('pi-session')) expect(skips(transcript)).toMatchObject({ 'tool call of an interrupted answer': 5, 'usage of an answer without content': 1 })
  })
}

function figuresOf({ items }: Transcript): Required<Figures> {
  const answers = items.filter((item): item is AnswerItem => item.kind === 'answer')
  const inputs = items.filter(item => item.kind === 'input')
  const results = answers.flatMap(answer => answer.results)
  const prompts = answers.flatMap(({ usage }) => (usage === undefined ? [] : [usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0)]))
  const shown = [...inputs.flatMap(input => input.content), ...results.flatMap(result => result?.content ?? [])]
  return {
    answers: answers.length,
    person: inputs.filter(input => input.from === 'person').length,
    context: inputs.filter(input => input.from === 'context').length,
    toolCalls: results.length,
    usagePoints: prompts.length,
    peakTokens: Math.max(0, ...prompts),
    compactions: items.filter(item => item.kind === 'compaction').length,
    images: shown.filter(block => block.type === 'image').length,
    interrupted: answers.filter(answer => answer.interrupted === true).length,
    errors: results.filter(result => result?.isError === true).length,
    unanswered: results.filter(result => result === null).length,
    mostParallel: Math.max(...answers.map(answer => answer.results.length)),
  }
}
