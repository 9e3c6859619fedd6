import { expect } from 'vitest'
import type { TaskOutcome } from './task.ts'

/** The task was finished although it did not fit: whole brackets, a smaller surface, smaller prompts. */
export function expectFinished({ turns, compactions, failed, entries, prompts, codes }: TaskOutcome): void {
  expect(codes.noted.toSorted()).toEqual(codes.hidden.toSorted())
  expect(turns.at(-1)).toBe('completed')
  expect(compactions).toBeGreaterThan(0)
  expect(failed).toBe(0)
  expect(entries.after).toBeLessThan(entries.before)
  expect(prompts.after).toBeLessThan(prompts.before)
}
