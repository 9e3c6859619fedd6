/**
 * Stage: where in the recording the conversation stands, shared by whoever plays a part in it.
 *
 * The model's answers move it on; the driver, the tools and the compactions look at it to know what comes next.
 */
import type { Seq, SessionEvent } from '@deepseek-ai/dsh-session'
import type { AnswerItem, CompactionItem, RecordedResult } from '@deepseek-ai/dsh-transcript'
import type { Passage, Placed } from './passages.ts'

export class Stage {
  readonly passages: readonly Passage[]
  /** How many passages were opened: what precedes their answer was put to the agent. */
  opened = 0
  /** Recorded compactions that are due before the next step. */
  due: readonly Placed<CompactionItem>[] = []
  /** Why the turn ends before its next step; null while it goes on. */
  cutShort: string | null = null
  private readonly answersGiven: () => number
  private readonly results = new Map<string, RecordedResult | null>()
  /** Item index of input that was accepted, by its id. */
  private readonly awaited = new Map<string, number>()
  /** First surface entry of each item that reached the surface. */
  private readonly entries = new Map<number, Seq>()

  /** @param answersGiven how many answers the recorded model has given so far, the passages' in order. */
  constructor(passages: readonly Passage[], answersGiven: () => number) {
    this.passages = passages
    this.answersGiven = answersGiven
    for (const { answer } of passages) if (answer !== null) this.learnResults(answer.item)
  }

  /** The passage that waits for its answer; the end of the recording once all were given. */
  get current(): Passage {
    return this.passages[this.given]!
  }

  get given(): number {
    return this.answersGiven()
  }

  /** Null where the recording has no result; undefined for a call that it does not know. */
  resultOf(callId: string): RecordedResult | null | undefined {
    return this.results.get(callId)
  }

  await(inputId: string, itemIndex: number): void {
    this.awaited.set(inputId, itemIndex)
  }

  /** Whether this is input of the recording. */
  expects(inputId: string | undefined): boolean {
    return inputId !== undefined && this.awaited.has(inputId)
  }

  entered(itemIndex: number, seq: Seq): void {
    this.entries.set(itemIndex, seq)
  }

  /** Keeps track of where the items are on the surface. */
  observe(event: SessionEvent): void {
    if (event.surfaceOp !== 'append') return
    if (event.type === 'user/message') {
      const { inputId } = event.data.source
      const index = inputId === undefined ? undefined : this.awaited.get(inputId)
      if (index !== undefined) this.entered(index, event.seq)
    } else if (event.type === 'assistant/message') {
      const answered = this.passages[this.given - 1]?.answer
      if (answered) this.entered(answered.index, event.seq)
    }
  }

  /** The first entry of the items from `itemIndex` on; null when none of them has reached the surface. */
  firstEntryFrom(itemIndex: number): Seq | null {
    let first: number | null = null
    for (const index of this.entries.keys()) if (index >= itemIndex && (first === null || index < first)) first = index
    return first === null ? null : this.entries.get(first)!
  }

  private learnResults({ content, results }: AnswerItem): void {
    let place = 0
    for (const block of content) if (block.type === 'tool-call') this.results.set(block.id, results[place++] ?? null)
  }
}
