#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

enableCompileCache() // a third of the time to start is compiling what has not changed
const { main } = await import('../src/cli.ts')

process.exitCode = await main(process.argv.slice(2))
