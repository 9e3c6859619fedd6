/**
 * `dsh compact`: a recorded conversation in, the same conversation out as a session in that window would go on with it.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { ManualCompactionError, openCallsAt, type CompactionEngine } from '@deepseek-ai/dsh-compaction'
import { resolveConfig } from '@deepseek-ai/dsh-compaction-basic'
import InvariantService from '@deepseek-ai/dsh-invariants'
import { messageOf, type Message } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, latestHeader, messageOfEvent, type Session } from '@deepseek-ai/dsh-session'
import type { Transcript } from '@deepseek-ai/dsh-transcript'
import { access, constants, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { compactTokens } from './chart.ts'
import { compose } from './compose.ts'
import { loadConfiguredSummarizer } from './configured-summarizer.ts'
import { EXIT, UsageError, type ExitCode } from './exit.ts'
import { openAiMessages, openAiTools, withPixels, type OpenAiMessage } from './openai-shape.ts'
import { Progress } from './progress.ts'
import { readTranscript, writable } from './replay-command.ts'
import { replay } from './replay.ts'

export interface CompactCommand {
  readonly file: string
  /** Where the conversation goes; `-` is stdout. */
  readonly out: string
  readonly windowTokens: number
  /** Who writes the checkpoints. */
  readonly summarizer: 'digest' | 'model'
  readonly invariants: boolean
}

interface Compacted {
  readonly conversation: { readonly model?: string; readonly messages: readonly OpenAiMessage[]; readonly tools?: readonly unknown[] }
  readonly before: Size
  readonly after: Size
}

/** Tokens by the estimate. */
interface Size {
  readonly messages: number
  readonly tokens: number
}

/** Nothing is written unless the whole conversation was compacted. */
export async function compactCommand(command: CompactCommand): Promise<ExitCode> {
  const { file, out } = command
  const transcript = await readTranscript(file)
  const toStdout = out === '-'
  if (!toStdout) await expectFolder(dirname(resolve(out))) // before the work is done
  const sessionDir = await mkdtemp(join(tmpdir(), 'dsh-compact-'))
  try {
    const compacted = await compact(command, transcript, sessionDir)
    if (typeof compacted === 'string') {
      process.stderr.write(`dsh: ${file} is not compacted: ${compacted}\n`)
      return EXIT.violation
    }
    const json = `${JSON.stringify(compacted.conversation, null, 1)}\n`
    if (toStdout) process.stdout.write(json)
    else await writable(out, path => writeFile(path, json))
    const told = `${file} (${transcript.format}): ${sizeText(compacted.before)} → ${sizeText(compacted.after)}${toStdout ? '' : `, in ${out}`}\n`
    ;(toStdout ? process.stderr : process.stdout).write(told)
    return EXIT.clean
  } finally {
    await rm(sessionDir, { recursive: true, force: true })
  }
}

async function expectFolder(folder: string): Promise<void> {
  await access(folder, constants.W_OK).catch(error => {
    throw new UsageError(messageOf(error), { cause: error })
  })
}

/** Why it could not be compacted, in words. */
async function compact({ windowTokens, summarizer, invariants }: CompactCommand, transcript: Transcript, sessionDir: string): Promise<Compacted | string> {
  const ctx = await compose({ sessionDir, loadEngine: summarizer === 'model' ? loadConfiguredSummarizer : undefined })
  const progress = new Progress(process.stderr)
  const priceOf = (message: Message): number => ctx.get('tokenMeter')!.estimateMessage(message)
  try {
    if (invariants) await ctx.plugin(InvariantService)
    const { session, stopped } = await replay(ctx, {
      transcript,
      windowTokens,
      ignoreCompactions: false,
      onProgress: at => progress.tell(at),
      epilogue: agent => compactHead(ctx.get('compaction')!, agent, retainTokens(windowTokens), priceOf),
    })
    return stopped ?? { conversation: conversationOf(session, transcript), before: said(session, priceOf), after: sizeOf(session.deriveMessages(), priceOf) }
  } catch (error) {
    if (error instanceof ManualCompactionError) return error.message
    throw error
  } finally {
    progress.done()
    await ctx.fiber.dispose()
  }
}

/** What the engine keeps verbatim by default. */
function retainTokens(windowTokens: number): number {
  const { retain } = resolveConfig().policyFor('recorded', 'recorded')
  return 'tokens' in retain ? retain.tokens : Math.floor(retain.ratio * windowTokens)
}

/** Compacts what stands before the shortest tail of that size which parts no call from its result; nothing where there is none. */
async function compactHead(engine: CompactionEngine, agent: Agent, tailTokens: number, priceOf: (message: Message) => number): Promise<void> {
  const { session } = agent
  const { entries } = session.surface
  let cut = entries.length
  for (let tokens = 0; cut > 0 && (tokens < tailTokens || openCallsAt(session, cut) > 0);) {
    cut -= 1
    const message = session.messageAt(cut)
    tokens += message === null ? 0 : priceOf(message)
  }
  if (cut > 1) await engine.compactRegion(entries[0]!, entries[cut - 1]!, agent)
}

function conversationOf(session: Session, { model }: Transcript): Compacted['conversation'] {
  const { system, tools } = latestHeader(session)?.data ?? {}
  const messages = session.deriveMessages()
  return {
    ...(model === null ? {} : { model }),
    messages: openAiMessages({ messages, ...(system === undefined ? {} : { system }) }, withPixels),
    ...(tools === undefined ? {} : { tools: openAiTools(tools) }),
  }
}

/** Everything that was ever put before the model. */
function said(session: Session, priceOf: (message: Message) => number): Size {
  const messages: Message[] = []
  for (const event of session.log.from(0)) {
    const message = isSurfaceEvent(event) && event.surfaceOp === 'append' ? messageOfEvent(event) : null
    if (message !== null) messages.push(message)
  }
  return sizeOf(messages, priceOf)
}

function sizeOf(messages: readonly Message[], priceOf: (message: Message) => number): Size {
  return { messages: messages.length, tokens: messages.reduce((sum, message) => sum + priceOf(message), 0) }
}

function sizeText({ messages, tokens }: Size): string {
  return `${messages} messages, ${compactTokens(tokens)} tokens`
}
