// Runs before `npm start`, `npm test`, `npm run check` and `npm run bench`: installs the locked dependencies when they are
// missing or older than the lock file. Plain JavaScript for Node 20, because the Node 24 that runs everything else may be one
// of those dependencies. Speaks on stderr only, so that the output of `npm start --silent -- …` is the program's own.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const lock = join(root, 'package-lock.json')
const installed = join(root, 'node_modules', '.package-lock.json')

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  console.error('dsh: installing dependencies (npm ci) …')
  // Without install scripts: nothing that is needed has one, and an optional native part of a dependency would try to build.
  const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', process.stderr, process.stderr],
    shell: process.platform === 'win32',
  })
  if (npm.status !== 0) {
    console.error('dsh: npm ci failed; run it by hand to see why, then start again')
    process.exit(npm.status ?? 1)
  }
}
