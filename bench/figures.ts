/** What is measured, at which sizes, and what is aimed at. */
export interface Figure {
  readonly name: string
  /** What a sample is, with its unit. */
  readonly what: string
  readonly sizes: readonly number[]
  readonly sizeOf: 'entries' | 'steps'
  readonly better: 'less' | 'more'
  /** Of ours, at the largest size where `at` names no other; where it is a share of the plain program's, `of` says so. */
  readonly target?: { readonly value: number; readonly of?: 'plain program'; readonly at?: number }
  /** The most by which ours may get worse from the first size to the last. */
  readonly maxGrowth?: number
  /** Which value of the answer is the figure; `value` by default. */
  readonly reads?: { readonly figure: string; readonly value: string }
}

const ENTRIES = { sizes: [1_000, 10_000, 100_000], sizeOf: 'entries', better: 'less' } as const
/** Five events of ours a step, so a quarter of a million and a million. */
const STORED = { sizes: [50_000, 200_000], sizeOf: 'steps', better: 'less' } as const
const ALL_VISIBLE = { sizes: [50_000], sizeOf: 'steps', better: 'less' } as const

export const FIGURES: readonly Figure[] = [
  { name: 'check', what: 'pressure check, nothing due, µs', ...ENTRIES, target: { value: 20 }, maxGrowth: 1.5 },
  { name: 'check-in-loop', what: 'the same as the loop calls it, µs', ...ENTRIES, target: { value: 50 }, maxGrowth: 1.5 },
  { name: 'append', what: 'append, every derived state read after each step, µs an entry', ...ENTRIES, target: { value: 30 }, maxGrowth: 1.5 },
  { name: 'derive', what: 'messages of the next request after one more step, µs', ...ENTRIES, maxGrowth: 1.5 },
  { name: 'cold', what: 'prices, pairs and messages of a stored history from nothing, ms', ...ENTRIES, target: { value: 1_000 } },
  { name: 'compact', what: 'one compaction, instant summarizer, ms', ...ENTRIES, target: { value: 100 } },
  { name: 'loop', what: 'loop in memory, instant model, steps/s', sizes: [1_000, 10_000], sizeOf: 'steps', better: 'more', target: { value: 5_000 }, maxGrowth: 1.5 },
  { name: 'durable', what: 'loop, each request and each tool after an fsync, steps/s', sizes: [1_000], sizeOf: 'steps', better: 'more', target: { value: 0.8, of: 'plain program' } },
  { name: 'resume', what: 'read a stored conversation that was compacted all along, ms', ...STORED, target: { value: 1_500, at: 50_000 } },
  { name: 'resume-peak', what: 'the same, peak memory above the bare process, MiB', ...STORED, reads: { figure: 'resume', value: 'peakMiB' } },
  { name: 'resume-kept', what: 'the same, memory in use once read, MiB', ...STORED, reads: { figure: 'resume', value: 'keptMiB' } },
  { name: 'open', what: 'read a stored conversation that was never compacted, ms', ...ALL_VISIBLE },
  { name: 'open-peak', what: 'the same, peak memory above the bare process, MiB', ...ALL_VISIBLE, reads: { figure: 'open', value: 'peakMiB' } },
  { name: 'event-bytes', what: 'bytes of the log an event beyond what was said', ...STORED, target: { value: 160 }, reads: { figure: 'resume', value: 'overheadBytesAnEvent' } },
  { name: 'step-bytes', what: 'the same a step, of which libraries make different numbers of events', ...STORED, reads: { figure: 'resume', value: 'overheadBytesAStep' } },
]
