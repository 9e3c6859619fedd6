/**
 * Own search: where there is no ripgrep.
 */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '@deepseek-ai/dsh-llm'
import { FileError } from './failure.ts'
import type { FileMatches, FoundLine, SearchRequest } from './matches.ts'
import { viewOf } from './text.ts'
import { walk } from './walk.ts'

/** @throws FileError for a pattern that is no regular expression. */
export async function* ownSearch(request: SearchRequest): AsyncGenerator<FileMatches, void, undefined> {
  const expression = expressionOf(request)
  for await (const path of filesOf(request)) {
    request.signal.throwIfAborted()
    const text = await textOf(join(request.folder, path), request)
    const lines = text === null ? [] : linesThatMatch(text, expression, request)
    if (lines.length > 0) yield { path, lines }
  }
}

function expressionOf({ pattern, ignoreCase }: SearchRequest): RegExp {
  // Elsewhere flags stand in front of a pattern.
  const [, foldsCase, rest = pattern] = /^(\(\?i\))(.*)$/s.exec(pattern) ?? []
  try {
    return new RegExp(rest, ignoreCase || foldsCase !== undefined ? 'i' : '')
  } catch (error) {
    throw new FileError('INVALID_PATTERN', `The pattern is no regular expression: ${messageOf(error)}. Put a backslash before characters that are meant as they are.`)
  }
}

async function* filesOf({ folder, file, isWanted, signal }: SearchRequest): AsyncGenerator<string, void, undefined> {
  if (file !== null) {
    yield file
    return
  }
  for await (const { path, kind } of walk(folder, { signal })) if (kind === 'file' && isWanted(path)) yield path
}

/** Null for what is no text, too large, or gone. */
async function textOf(path: string, { maxFileBytes, signal }: SearchRequest): Promise<string | null> {
  try {
    if ((await stat(path)).size > maxFileBytes) return null
    const bytes = await readFile(path, { signal })
    return bytes.includes(0) ? null : viewOf(new TextDecoder().decode(bytes))
  } catch {
    signal.throwIfAborted()
    return null
  }
}

function linesThatMatch(text: string, expression: RegExp, { contextLines, maxMatches }: SearchRequest): FoundLine[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const ats = new Map<number, number | null>()
  let matches = 0
  for (const [index, line] of lines.entries()) {
    const at = line.search(expression)
    if (at < 0) continue
    for (let near = Math.max(0, index - contextLines); near <= Math.min(lines.length - 1, index + contextLines); near++) {
      if (!ats.has(near)) ats.set(near, null)
    }
    ats.set(index, at)
    matches += 1
    if (matches === maxMatches) break
  }
  return [...ats].sort(([a], [b]) => a - b).map(([index, at]) => ({ number: index + 1, text: lines[index]!, at }))
}
