/**
 * Typing: from a key that reaches the interface to the bytes that show it, on a terminal without a screen, 200 × 50.
 *
 * A frame begins 16 ms after the one before at the earliest, so an echo waits for that and for what the process does meanwhile.
 * Keys come 30–46 ms apart, faster than a person's, while nothing else happens, while an answer streams, while one paragraph of
 * 70 kB and a list as long still grow, and while a child process prints 2 MB; in a new session and in one of 1,000 steps.
 */
import { ScriptedAdapter, type ContentBlock, type LlmAdapter, type StreamChunk } from '@deepseek-ai/dsh-llm'
import type { Tool } from '@deepseek-ai/dsh-tools'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { HeadlessTerminal } from '../packages/interaction/tui/test/headless.ts'
import { stage } from '../packages/interaction/tui/test/stage.ts'
import { table, type Cell } from './report.ts'

const STEPS = 1_000
const KEYS = 200
const KEY_MS = 30
const FRAME_MS = 17
/** Prints 2 MB in 4 kB pieces, as fast as they are read but for a breath now and then. */
const PRINTER = `let left = 500; const line = 'x'.repeat(79) + '\\n'; const piece = line.repeat(51);
(function print() { for (let n = 0; n < 5 && left > 0; n++, left--) process.stdout.write(piece); if (left > 0) setTimeout(print, 60) })()`

export async function run(): Promise<void> {
  const rows = [...await measured('new session', 0), ...await measured(`${STEPS} steps`, STEPS)]
  table('From a key to its echo, ms', ['while', 'p50', 'p95', 'max', 'frames/s'], rows)
}

async function measured(name: string, steps: number): Promise<Cell[][]> {
  const rows: Cell[][] = []
  const { ctx, agent } = await stage(new Model(steps), [look, print])
  if (steps > 0) {
    agent.send('work')
    await agent.whenIdle()
  }
  const terminal = new HeadlessTerminal(200, 50)
  const screen = ctx.tui.run({ agent, terminal, color: true })
  await sleep(200)
  rows.push(await typed(`${name}, idle`, terminal, () => {}))
  agent.send('answer')
  rows.push(await typed(`${name}, an answer streams`, terminal, () => void (agent.status === 'idle' && agent.send('answer'))))
  agent.cancel('bench')
  await agent.whenIdle()
  for (const kind of Object.keys(ENDLESS)) {
    agent.send(kind)
    rows.push(await typed(`${name}, ${kind} of 70 kB grows`, terminal, () => {}))
    agent.cancel('bench')
    await agent.whenIdle()
  }
  rows.push(await typed(`${name}, a tool prints 2 MB, again and again`, terminal, () => void (agent.status === 'idle' && agent.send('print'))))
  agent.cancel('bench')
  await agent.whenIdle()
  terminal.press('\u0015', '\u0004') // clears the line, then quits
  await screen
  await ctx.fiber.dispose()
  return rows
}

async function typed(name: string, terminal: HeadlessTerminal, before: () => void): Promise<Cell[]> {
  const times: number[] = []
  const began = performance.now()
  const firstFrame = terminal.writes.length
  for (let key = 0; key < KEYS; key++) {
    before()
    // The letter moves along, so that the row of the editor cannot be what it was.
    const letter = String.fromCharCode(97 + (key % 26))
    if (key % 100 === 99) terminal.press('\u0015')
    const pressed = performance.now()
    const shown = new Promise<void>(resolve => {
      terminal.onWrite = () => {
        if (terminal.writes.at(-1)!.includes(`${letter}\u001b_pi:c`) || terminal.writes.at(-1)!.includes(`${letter}\u001b[7m`)) resolve()
      }
    })
    terminal.press(letter)
    await shown
    times.push(performance.now() - pressed)
    // A key that follows an echo by a fixed time would always meet the frames at the same place.
    await sleep(KEY_MS + ((key * 7) % FRAME_MS))
  }
  terminal.onWrite = () => {}
  const frames = terminal.writes.slice(firstFrame).filter(write => write.includes('\u001b[?2026h')).length
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))]!
  return [name, at(0.5), at(0.95), at(1), Math.round((frames / (performance.now() - began)) * 1_000)]
}

const look: Tool = { name: 'look', parameters: { type: 'object' }, execute: () => Array.from({ length: 40 }, (_, row) => `${row}: what stands in this line`).join('\n') }
const print: Tool = {
  name: 'print', parameters: { type: 'object' },
  async execute(_args, { output, signal }) {
    const child = spawn(process.execPath, ['-e', PRINTER], { stdio: ['ignore', 'pipe', 'inherit'], signal })
    child.stdout.setEncoding('utf8').on('data', output)
    child.on('error', () => {}) // the abort
    await once(child, 'close')
    return 'printed'
  },
}

const PARAGRAPH = 'The **reader** drops the last line when the file has no line feed at its end, see `src/reader.ts`.\n\n- one\n- two\n\n```ts\nconst answer = 42\n```\n\n'

const SENTENCE = 'The **reader** drops the last line when the file has no `line feed` at its end. '
/** Blocks that do not end, by what they are asked for with. */
const ENDLESS: { readonly [kind: string]: string } = { 'one paragraph': SENTENCE, 'one list': `- ${SENTENCE}\n` }
const ENDLESS_CHARS = 70_000

/** Works for as many steps as it is told, then answers at length, or calls the printer. */
class Model implements LlmAdapter {
  readonly provider = 'scripted'
  private readonly script: ScriptedAdapter

  constructor(steps: number) {
    this.script = new ScriptedAdapter({ models: { m: { contextWindow: 100_000_000 } }, replies: (_options, index) => ({ content: step(index, steps) }) })
  }

  modelInfo(model: string): ReturnType<ScriptedAdapter['modelInfo']> {
    return this.script.modelInfo(model)
  }

  async *stream(options: Parameters<LlmAdapter['stream']>[0]): AsyncGenerator<StreamChunk> {
    const last = options.messages.at(-1)!
    const said = last.content[0]?.type === 'text' ? last.content[0].text : ''
    if (last.role === 'user' && said === 'answer') {
      yield { type: 'block-start', index: 0, block: { type: 'text' } }
      for (let piece = 0; piece < 2_000; piece++) {
        yield { type: 'text-delta', index: 0, text: PARAGRAPH.slice((piece * 10) % PARAGRAPH.length).slice(0, 10) }
        await sleep(3, undefined, { signal: options.signal })
      }
      yield { type: 'finish', reason: 'stop' }
    } else if (last.role === 'user' && said in ENDLESS) {
      const text = ENDLESS[said]!
      yield { type: 'block-start', index: 0, block: { type: 'text' } }
      yield { type: 'text-delta', index: 0, text: text.repeat(ENDLESS_CHARS / text.length) }
      for (;;) {
        yield { type: 'text-delta', index: 0, text }
        await sleep(30, undefined, { signal: options.signal })
      }
    } else if (last.role === 'user' && said === 'print') {
      yield { type: 'block-start', index: 0, block: { type: 'tool-call', id: `p${options.messages.length}`, name: 'print' } }
      yield { type: 'tool-call-delta', index: 0, arguments: '{}' }
      yield { type: 'finish', reason: 'tool-calls' }
    } else {
      yield* this.script.stream(options)
    }
  }
}

function step(index: number, steps: number): ContentBlock[] {
  const thought: ContentBlock = { type: 'reasoning', text: 'What is next? The file after this one.' }
  const words: ContentBlock = { type: 'text', text: `Step ${index}. ${PARAGRAPH}` }
  return index < steps ? [thought, words, { type: 'tool-call', id: `c${index}`, name: 'look', arguments: `{"path":"src/${index}.ts"}` }] : [words]
}
