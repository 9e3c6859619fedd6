/** The other libraries: where they are, and how they come to be there. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const DIR = fileURLToPath(new URL('./peers', import.meta.url))
/** Module in peers/, what people call it, and the package whose version is told. */
const PEERS = [
  ['deepseek', 'DeepSeek harness', '@deepseek-ai/dsh-agent-loop'],
  ['langchain', 'LangChain, summarization', 'langchain'],
  ['langchain-editing', 'LangChain, context editing', 'langchain'],
  ['langchain-trim', 'LangChain, trimMessages', '@langchain/core'],
  ['ai', 'Vercel AI SDK', 'ai'],
  ['pi', 'pi', '@earendil-works/pi-coding-agent'],
  ['openai', 'OpenAI Agents SDK', '@openai/agents'],
  ['adk', 'Google ADK', '@google/adk'],
  ['mastra', 'Mastra', '@mastra/core'],
] as const

export interface Party {
  readonly name: string
  readonly module: string
}

export const OURS: Party = { name: 'ours', module: fileURLToPath(new URL('./ours.ts', import.meta.url)) }
export const PLAIN: Party = { name: 'plain program', module: fileURLToPath(new URL('./plain.ts', import.meta.url)) }

/** Installed if need be; none where they cannot be. */
export function peers(): Party[] {
  const lock = join(DIR, 'package-lock.json')
  const installed = join(DIR, 'node_modules', '.package-lock.json')
  if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
    console.error('bench: installing the libraries to compare with (npm ci in bench/peers, some 550 MB) …')
    const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund'], { cwd: DIR, stdio: ['ignore', process.stderr, process.stderr] })
    if (npm.status !== 0) {
      console.error('bench: they cannot be installed here, so they are left out')
      return []
    }
  }
  const { dependencies } = JSON.parse(readFileSync(join(DIR, 'package.json'), 'utf8')) as { dependencies: { readonly [name: string]: string } }
  return PEERS.map(([module, name, from]) => ({ name: `${name} ${dependencies[from]}`, module: join(DIR, `${module}.mjs`) }))
}
