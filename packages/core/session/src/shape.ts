/**
 * Shape: what every event must look like, whoever made it, before a log asks what it does.
 *
 * Pure. Only as much is demanded as folds need to be total: an event of an unknown type passes as it is.
 */
import { isSurfaceType, type Seq, type SessionEvent } from './events.ts'

/** An event that a log refuses; nothing was changed. */
export class InvalidEventError extends Error {
  override readonly name = 'InvalidEventError'
  readonly type: string
  readonly seq: Seq

  constructor(type: string, seq: Seq, reason: string) {
    super(`event ${seq} (${type}) is refused: ${reason}`)
    this.type = type
    this.seq = seq
  }
}

/**
 * @param next the number that comes next in the log.
 * @throws InvalidEventError naming the type, the seq and the offending value.
 */
export function checkShape(event: SessionEvent, next: Seq): void {
  const { seq, time, type, data } = Object(event) as SessionEvent
  const refuse = (reason: string): never => {
    throw new InvalidEventError(String(type), next, reason)
  }
  if (seq !== next) refuse(`it is numbered ${shown(seq)}, and ${next} comes next`)
  if (typeof type !== 'string') refuse(`its type is ${shown(type)}, not a name`)
  if (!Number.isFinite(time)) refuse(`its time is ${shown(time)}, not a number of milliseconds`)
  if (data === null || typeof data !== 'object' || Array.isArray(data)) refuse(`its data is ${shown(data)}, not an object`)
  if (!isSurfaceType(type)) return
  const { content } = data as { readonly content?: unknown }
  if (!Array.isArray(content)) return refuse(`its content is ${shown(content)}, not a list of blocks`)
  for (const [index, block] of content.entries()) {
    if (typeof (block as { readonly type?: unknown } | null)?.type !== 'string') refuse(`its content[${index}] is ${shown(block)}, not a block`)
  }
}

/** A value as an error shows it: JSON, and never longer than a line. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`
}
