/**
 * Stage: the real composition around sessions in a folder, with a scripted model, a tool and a small window. The process that is
 * to be killed plays on it, and so does the one that goes on with what was left.
 *
 * A turn is three requests: two parallel calls, one call, an answer. Context joins while tools run, steering while a summary is
 * written. Texts are no ASCII alone, so that a torn byte can tear a letter.
 */
import { Context } from '@deepseek-ai/cordis'
import AgentService, { type Agent } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import { BasicCompactionEngine } from '@deepseek-ai/dsh-compaction-basic'
import { DigestCompactionEngine } from '@deepseek-ai/dsh-compaction-digest'
import LlmService, { ScriptedAdapter, type ContentBlock, type GenerateOptions, type ScriptedReply } from '@deepseek-ai/dsh-llm'
import SessionService from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import SystemPromptService from '@deepseek-ai/dsh-system-prompt'
import TokenMeterService from '@deepseek-ai/dsh-token-meter'
import ToolService from '@deepseek-ai/dsh-tools'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export const ENGINES = { basic: BasicCompactionEngine, digest: DigestCompactionEngine } as const
export const TRIGGERS = ['pressure', 'context-overflow', 'manual'] as const

/** Plain JSON: it crosses the border between processes. */
export interface StageInit {
  readonly dir: string
  readonly id: string
  readonly engine: keyof typeof ENGINES
  /** What makes it compact: a small window that is known, one that only a refusal tells of, or a person after every second turn. */
  readonly trigger: (typeof TRIGGERS)[number]
}

export interface Stage {
  readonly agent: Agent
  /** Goes on with input that waits. */
  catchUp(): Promise<void>
  /** A person's message and everything that follows from it. */
  playTurn(): Promise<void>
  /** One compaction, asked for; false when there was nothing to compact. */
  compact(): Promise<boolean>
  /** Closes the session. */
  leave(): Promise<void>
}

const ROUTE = { provider: 'scripted', model: 'm' } as const
const WINDOW_TOKENS = 4_000
/** Above this many characters of messages, the model of `context-overflow` refuses. */
const REFUSED_CHARS = 12_000
const TURNS_BETWEEN_MANUAL = 2
/** Long enough to be killed in. */
const SUMMARY_MS = 5

export function sessionPath({ dir, id }: Pick<StageInit, 'dir' | 'id'>): string {
  return join(dir, `${id}.jsonl`)
}

/** The session of that id, resumed where it is there. */
export async function stage(init: StageInit, Persistence: typeof JsonlSessionPersistence = JsonlSessionPersistence): Promise<Stage> {
  const { dir, id, engine, trigger } = init
  const ctx = new Context()
  for (const plugin of [LlmService, TokenMeterService, SystemPromptService, ToolService]) await ctx.plugin(plugin)
  await ctx.plugin(Persistence, { dir })
  for (const plugin of [SessionService, AgentService, ENGINES[engine], AgentLoop]) await ctx.plugin(plugin)

  let summaries = 0
  const reply = (options: GenerateOptions, index: number): ScriptedReply | Promise<ScriptedReply> => {
    if (options.purpose === 'compaction') {
      summaries += 1
      if (summaries % 2 === 1) agent.steer(`While you summarize: keep № ${summaries} in mind.`)
      return delay(SUMMARY_MS, SUMMARY)
    }
    if (trigger === 'context-overflow' && JSON.stringify(options.messages).length > REFUSED_CHARS) {
      return { failure: { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'prompt is too long' } }
    }
    return answer(index)
  }
  const windows = { pressure: { contextWindow: WINDOW_TOKENS }, manual: { contextWindow: 100 * WINDOW_TOKENS }, 'context-overflow': {} }
  ctx.llm.registerAdapter(new ScriptedAdapter({ models: { [ROUTE.model]: windows[trigger] }, replies: reply }))
  let looks = 0
  ctx.tools.registerTool({
    name: 'look',
    description: 'Looks at a part.',
    parameters: { type: 'object' },
    parallel: true,
    async execute() {
      looks += 1
      if (looks % 4 === 0) agent.inject(`Seen on the way: part ${looks}.`, { kind: 'context' })
      if (looks % 3 === 0) await delay(1)
      return FINDINGS
    },
  })
  const session = existsSync(sessionPath(init)) ? await ctx.sessions.resume(id) : await ctx.sessions.create({ id })
  const agent = ctx.agents.create(session, ROUTE)

  let turns = 0
  const compact = async (): Promise<boolean> => (await ctx.compaction.compactNow(agent, new AbortController().signal)) !== null
  return {
    agent,
    async catchUp() {
      agent.wake()
      await agent.whenIdle()
    },
    async playTurn() {
      turns += 1
      agent.send(`Part ${turns}. ${REQUEST}`)
      await agent.whenIdle()
      if (trigger === 'manual' && turns % TURNS_BETWEEN_MANUAL === 0) await compact()
      await agent.whenIdle() // steering that came while it was written
    },
    compact,
    async leave() {
      await ctx.sessions.close(session)
      await ctx.fiber.dispose()
    },
  }
}

function answer(index: number): ScriptedReply {
  const call = (name: string): ContentBlock => ({ type: 'tool-call', id: `${name}${index}`, name: 'look', arguments: '{"at":"§ 4"}' })
  const say = (text: string): ContentBlock => ({ type: 'text', text })
  switch (index % 3) {
    case 0:
      return { content: [say('Both, then.'), call('a'), call('b')] }
    case 1:
      return { content: [call('c')] }
    default:
      return { content: [say('It is as it should be – 好的.')] }
  }
}

const REQUEST = 'Look at the façade, please, and say whether § 4 still holds; 请用中文回答 where you can. '.repeat(2)
const FINDINGS = 'The naïve façade of § 4 holds, and line 42 says so: “größer als zuvor” → 比以前大 🙂. '.repeat(12)
const SUMMARY = `## Current Work\n${'Parts are looked at one after the other; § 4 holds – 好的. '.repeat(5)}`
