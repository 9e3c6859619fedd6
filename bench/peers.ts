/** The other libraries: where they are, and how they come to be there. */
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const DIR = fileURLToPath(new URL('./peers', import.meta.url))
export const PEERS = ['deepseek', 'langchain', 'langchain-editing', 'langchain-trim', 'ai', 'pi', 'openai', 'adk', 'mastra'] as const

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
  return PEERS.map(name => ({ name, module: join(DIR, `${name}.mjs`) }))
}
