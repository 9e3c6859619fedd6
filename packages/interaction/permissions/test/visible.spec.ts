import { Context } from '@deepseek-ai/cordis'
import Permissions from '@deepseek-ai/dsh-permissions'
import { Session } from '@deepseek-ai/dsh-session'
import Tools, { type PermissionRequest } from '@deepseek-ai/dsh-tools'
import { expect, it } from 'vitest'
import { isGranted } from '../src/grants.ts'
import { visible } from '../src/visible.ts'

it.each([
  ['what a carriage return would go back over', 'rm -r src; #\rls', 'rm -r src; #␍ls'],
  ['what an escape sequence would span', 'ls \u001b]0; rm -r src\u0007', 'ls ␛]0; rm -r src␇'],
  ['what a C1 sequence would span', 'ls \u009d; rm -r src\u009c', 'ls \\u{9d}; rm -r src\\u{9c}'],
  ['what stands in another direction', 'a\u202eb', 'a\\u{202e}b'],
  ['what has no width', 'a\u200bb\ufeff', 'a\\u{200b}b\\u{feff}'],
])('%s is spelled', (_name, text, shown) => {
  expect(visible(text)).toBe(shown)
})

it('words, line ends and tabs stay as they are', () => {
  const text = 'one\r\n\ttwo 漢字 👩‍💻 é\n'
  expect(visible(text)).toBe(text)
})

it('a person is asked so, and what they allow is what was meant', async () => {
  const ctx = new Context()
  await ctx.plugin(Tools)
  await ctx.plugin(Permissions)
  const request: PermissionRequest = { scope: 'exactly: a\rb', title: 'Run a\rb', detail: 'a\rb' }
  ctx.tools.registerTool({ name: 'do', parameters: { type: 'object' }, permission: () => request, execute: () => 'done' })
  const asked: PermissionRequest[] = []
  ctx.permissions.setAsker(async question => {
    asked.push(question.request)
    return 'always'
  })
  const session = new Session({ header: { id: 's', createdAt: 0 } })
  await ctx.tools.execute({ type: 'tool-call', id: '1', name: 'do', arguments: '{}' }, { signal: new AbortController().signal, session })
  expect(asked).toEqual([{ scope: 'exactly: a␍b', title: 'Run a␍b', detail: 'a␍b' }])
  expect(isGranted(session, request.scope)).toBe(true)
})
