/**
 * The matrix: real conversations of several tools through `dsh replay`, in windows that are too small for them.
 *
 * The recordings lie beside the repository, in `../shared`; where they do not, nothing is run and the report says so.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkSessionFile } from '../apps/dsh/src/check.ts'

const bin = fileURLToPath(new URL('../apps/dsh/bin/dsh.ts', import.meta.url))
const corpus = fileURLToPath(new URL('../../shared/corpus/', import.meta.url))
const judge = fileURLToPath(new URL('../../shared/tools/check-requests.mjs', import.meta.url))

const RECORDINGS = [
  'claude-code/cc-opus45-2compactions.jsonl',
  'claude-code/cc-opus46-images-compaction.jsonl',
  'codex-rollout/codex-spark-2compactions.jsonl',
  'codex-rollout/codex-gpt54-orphan-calls.jsonl',
  'pi-session/pi-opus45-2compactions.jsonl',
  'mini-swe-agent-traj/mini-deepseek-sqlfluff-1517.traj.json',
]
const WINDOWS_TOKENS = [40_000, 100_000]
/** One of every other format, in one window that most of them outgrow; `npm run bench -- corpus` takes all in four. */
const OTHERS = [
  'gemini-cli-chat/gemini3pro-268msgs.json',
  'opencode-export/opencode-gpt53-compaction.json',
  'kimi-wire/kimi-wire-100msgs.jsonl',
  'kimi-wire/kimi-context-100msgs.jsonl',
  'copilot-cli-events/copilot-sonnet46.jsonl',
  'openhands-output/openhands-multiswe-2runs.jsonl',
  'openhands-output/openhands-resolver-old-events.jsonl',
  'swe-agent-traj/sweagent-marshmallow-function-calling.traj',
  'swe-agent-traj/sweagent-ctf-web-demo.traj',
  'tau-bench/tau-gpt4o-airline-dev.json',
  'copilot-chatreplay/vscode-chatreplay.json',
  'dsh-session/dsh-goal-multi-turn.jsonl',
  'aider-history/aider-chat-history-excerpt.md',
]
const SMALL_WINDOW_TOKENS = 24_000
const CASES: readonly (readonly [recording: string, windowTokens: number])[] = [
  ...RECORDINGS.flatMap(recording => WINDOWS_TOKENS.map(windowTokens => [recording, windowTokens] as const)),
  ...OTHERS.map(recording => [recording, SMALL_WINDOW_TOKENS] as const),
]
const TIMEOUT_MS = 120_000

interface Ended {
  readonly code: unknown
  readonly stdout: string
  readonly stderr: string
}

function run(...args: string[]): Promise<Ended> {
  return new Promise(resolve => {
    execFile(process.execPath, args, { maxBuffer: 1 << 26 }, (error, stdout, stderr) => resolve({ code: error === null ? 0 : error.code, stdout, stderr }))
  })
}

describe.skipIf(!existsSync(corpus))('every recording, in every window (skipped without ../shared/corpus)', () => {
  let dir: string
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dsh-matrix-'))
  })
  afterAll(() => rm(dir, { recursive: true }))

  for (const [recording, windowTokens] of CASES) {
    it(`${recording} in ${windowTokens}`, { timeout: TIMEOUT_MS }, async () => {
      const [requests, log] = [join(dir, 'requests.jsonl'), join(dir, 'log.jsonl')]
      const window = ['--window', String(windowTokens)]
      const replayed = await run(bin, 'replay', join(corpus, recording), ...window, '--json', '--requests', requests, '--log', log)
      expect(replayed.code, replayed.stderr).toBe(0)
      const report: unknown = JSON.parse(replayed.stdout)
      expect(report).toMatchObject({ overWindowRequests: 0, orphanResults: 0, unansweredCalls: 0, replayIdentical: true })
      expect(report).not.toHaveProperty('stopped')
      expect((await checkSessionFile(log)).violations).toEqual([])
      if (!existsSync(judge)) return
      const judged = await run(judge, requests, ...window, '--json')
      expect(judged.code, judged.stdout).toBe(0)
    })
  }
})
