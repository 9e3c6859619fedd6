/**
 * Transcript: a recorded conversation, whatever tool recorded it, as the items that a loop can play again.
 *
 * Pure. An item boundary is always a safe place to cut: an answer carries its own results, in the order of its calls.
 */
import type { ContentBlock, FinishReason, TokenUsage, ToolSchema } from '@deepseek-ai/dsh-llm'

/** Something put to the model: a person's words, or context that a tool added (instructions, reminders, environment). */
export interface InputItem {
  readonly kind: 'input'
  /** Text and image blocks; never empty. */
  readonly content: readonly ContentBlock[]
  readonly from: 'person' | 'context'
  /** Where it stands in the file: a 1-based line of a JSONL file, a 1-based message index of a JSON file. */
  readonly line: number
}

export interface RecordedResult {
  readonly content: readonly ContentBlock[]
  readonly isError?: true
}

/** One answer of the model, with what its calls returned. */
export interface AnswerItem {
  readonly kind: 'answer'
  /** Reasoning, text and tool-call blocks in the model's order; call ids are unique within the transcript. */
  readonly content: readonly ContentBlock[]
  /** One place for each call block, in call order; null where the recording has no result. */
  readonly results: readonly (RecordedResult | null)[]
  readonly model?: string
  readonly finish: FinishReason
  /** What the provider reported for the request of that time; for measuring estimates, never replayed as usage of ours. */
  readonly usage?: TokenUsage
  /** The answer was cut off by the person or by a failure; only its finished text counts. */
  readonly interrupted?: true
  readonly line: number
}

/**
 * A compaction that happened when the conversation was recorded: from here on the model saw `content` in place of every
 * item before `keptFrom`, followed by the items from `keptFrom` on.
 */
export interface CompactionItem {
  readonly kind: 'compaction'
  /** What stood for the older part; where the summary is not readable, it says so and quotes what was kept. */
  readonly content: readonly ContentBlock[]
  /** Index into `items` of the first item still seen; this item's own index when none was. */
  readonly keptFrom: number
  /** Tokens before it, as the recording tool counted them. */
  readonly tokensBefore?: number
  /** Nothing was summarized: another conversation of the same file begins, whose model saw nothing of the one before. */
  readonly boundary?: true
  readonly line: number
}

export type TranscriptItem = InputItem | AnswerItem | CompactionItem

/** What the file holds and a transcript cannot express. */
export interface Skipped {
  readonly reason: string
  readonly count: number
  /** The first place where it occurred. */
  readonly line: number
}

export type TranscriptFormat =
  | 'claude-code'
  | 'codex-rollout'
  | 'pi-session'
  | 'copilot-cli-events'
  | 'kimi-wire'
  | 'kimi-context'
  | 'openhands-output'
  | 'copilot-chatreplay'
  | 'gemini-cli-chat'
  | 'opencode-export'
  | 'swe-agent-traj'
  | 'tau-bench'
  | 'aider-history'
  | 'mini-swe-agent-traj'
  | 'openai-chat'
  | 'dsh-session'
  | 'deepseek-harness'

export interface Transcript {
  readonly format: TranscriptFormat
  /** The model that answered most, as the file names it. */
  readonly model: string | null
  readonly system?: string
  /** Schemas where the file has them; otherwise the replay registers the called names with an open schema. */
  readonly tools?: readonly ToolSchema[]
  readonly items: readonly TranscriptItem[]
  readonly skipped: readonly Skipped[]
}
