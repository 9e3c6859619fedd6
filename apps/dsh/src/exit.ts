/** Exit codes of every command: what was asked for holds, does not hold, could not be asked, or was cancelled by a signal. */
export const EXIT = { clean: 0, violation: 1, usage: 2, cancelled: 130 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** The command was not used as it can be, or its input cannot be read; the message is for the person who typed it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
