export type {
  AnswerItem,
  CompactionItem,
  InputItem,
  RecordedResult,
  Skipped,
  Transcript,
  TranscriptFormat,
  TranscriptItem,
} from './model.ts'
export { importTranscript } from './detect.ts'
export { TranscriptError } from './error.ts'
