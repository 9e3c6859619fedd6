/**
 * `dsh run`: one prompt answered without a terminal. The answer, or every event, goes to stdout; what happens on the way to stderr.
 */
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-agent'
import type {} from '@deepseek-ai/dsh-llm-retry'
import type { MessageSource, SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session'
import { bootComposition, INTERFACE, withServices } from './composition.ts'
import { CONVERSATION_SERVICES, openConversation, type Conversation, type ConversationFlags } from './conversation.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'
import { RunLines } from './run-lines.ts'
import { RunTally } from './run-tally.ts'
import { isPiped, pipedContext, readStdin } from './stdin.ts'
import { Stop } from './stop.ts'

export interface RunCommand extends ConversationFlags {
  /** The words of the prompt; `-` alone, or none with something piped in, takes it from stdin. */
  readonly words: readonly string[]
  readonly json: boolean
}

interface Request {
  readonly prompt: string
  readonly context?: string
}

const CONTEXT_SOURCE: MessageSource = { kind: 'context' }

/** Who cancels a turn when the process is told to stop. */
const STOPPED = 'a signal to the process'

export async function runCommand(command: RunCommand): Promise<ExitCode> {
  const request = await requestOf(command.words)
  const root = await bootComposition(command, { drop: INTERFACE, dir: command.dir })
  const stop = new Stop()
  try {
    return await withServices(root, CONVERSATION_SERVICES, async ctx => {
      const conversation = await openConversation(ctx, command)
      try {
        return await answer(ctx, conversation, request, command.json, stop.signal)
      } finally {
        await conversation.close()
      }
    })
  } finally {
    await root.fiber.dispose()
    stop.release()
  }
}

async function requestOf(words: readonly string[]): Promise<Request> {
  const fromStdin = words.length === 0 || (words.length === 1 && words[0] === '-')
  const piped = isPiped() ? (await readStdin()).trim() : ''
  const prompt = fromStdin ? piped : words.join(' ').trim()
  if (prompt === '') throw new UsageError('there is no prompt: dsh run "what to do", or - with the prompt on stdin')
  return fromStdin || piped === '' ? { prompt } : { prompt, context: pipedContext(piped) }
}

async function answer(ctx: Context, { agent, session, route }: Conversation, { prompt, context }: Request, json: boolean, stop: AbortSignal): Promise<ExitCode> {
  const tally = new RunTally()
  const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`)
  const show = json ? print : progress()
  const explain = refusalNote()
  ctx.on('session/event', (from, event) => {
    if (from !== session) return
    tally.observe(event)
    show(event)
    explain(event)
  })
  ctx.on('llm/retry-wait', (from, { failure, retry, maxRetries, waitMs }) => {
    if (from === session) tell(`${failure.code}: ${failure.message}; retry ${retry} of ${maxRetries} in ${Math.ceil(waitMs / 1_000)} s`)
  })
  ctx.on('compaction/notice', (from, notice) => {
    if (from === session) tell(notice)
  })
  if (json) print({ type: 'session', ...session.header, ...route })
  if (context !== undefined) agent.inject(context, CONTEXT_SOURCE)
  agent.send(prompt)
  stop.addEventListener('abort', () => agent.cancel(STOPPED))
  if (stop.aborted) agent.cancel(STOPPED)
  await agent.whenIdle()
  const code = exitCodeOf(tally.end)
  if (code !== EXIT.clean) tell(failureText(tally.end))
  else if (tally.answer === '') tell('the answer has no words')
  if (json) print({ type: 'result', session: session.id, exitCode: code, end: tally.end, text: tally.answer, usage: tally.usage })
  else if (tally.answer !== '') process.stdout.write(`${tally.answer.trimEnd()}\n`)
  return code
}

/** What happens, on stderr. */
function progress(): (event: SessionEvent) => void {
  const lines = new RunLines()
  return event => {
    for (const line of lines.of(event)) process.stderr.write(`${line}\n`)
  }
}

/** Says once how to allow what is refused for want of a person. */
function refusalNote(): (event: SessionEvent) => void {
  let said = false
  return event => {
    if (said || event.type !== 'tool/result' || event.data.error?.code !== 'PERMISSION_DENIED') return
    said = true
    tell('nobody can be asked here, so what needs permission is refused; --yes allows it')
  }
}

function exitCodeOf(end: TurnEndReason | null): ExitCode {
  if (end?.reason === 'completed') return EXIT.clean
  return end?.reason === 'aborted' && end.by === STOPPED ? EXIT.cancelled : EXIT.violation
}

function failureText(end: TurnEndReason | null): string {
  switch (end?.reason) {
    case undefined:
      return 'nothing answered'
    case 'error':
      return `the turn failed: ${end.failure.code}: ${end.failure.message}${laterText(end.failure.retryAfterMs)}`
    case 'aborted':
      return `the turn was cancelled by ${end.by}`
    case 'max-tokens':
      return 'the answer was cut off at its output limit'
    default:
      return `the turn ended as ${end!.reason}`
  }
}

/** A wait that was too long to begin. */
function laterText(retryAfterMs: number | undefined): string {
  return retryAfterMs === undefined || retryAfterMs < 1_000 ? '' : ` (the provider asks to wait ${Math.ceil(retryAfterMs / 1_000).toLocaleString('en-US')} s)`
}

function tell(text: string): void {
  process.stderr.write(`dsh: ${text}\n`)
}
