import { Context } from '@deepseek-ai/cordis'
import { Session } from '@deepseek-ai/dsh-session'
import FileTools from '@deepseek-ai/dsh-tool-files'
import Tools, { type PermissionAnswer, type PermissionRequest, type ToolOutcome } from '@deepseek-ai/dsh-tools'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-files-test-')))
afterAll(() => rmSync(root, { recursive: true }))

type Settings = { [limit in 'maxFileBytes' | 'maxImageBytes' | 'maxReadLines' | 'maxReadChars' | 'maxListEntries' | 'maxMatches' | 'maxDiffChars']?: number }

let projects = 0
/** The tools in a project of their own, which holds these files, and who is asked for permission. */
async function stage(files: { readonly [path: string]: string | Buffer } = {}, limits: Settings = {}) {
  const cwd = join(root, `${++projects}`)
  mkdirSync(cwd)
  const put = (path: string, content: string | Buffer) => {
    mkdirSync(join(cwd, path, '..'), { recursive: true })
    writeFileSync(join(cwd, path), content)
  }
  for (const [path, content] of Object.entries(files)) put(path, content)
  const ctx = new Context()
  await ctx.plugin(Tools)
  await ctx.plugin(FileTools, limits as never)
  const asked: PermissionRequest[] = []
  const person: { answer: (request: PermissionRequest) => PermissionAnswer } = { answer: () => ({ kind: 'allow' }) }
  ctx.on('tools/permission', async ({ request }) => { asked.push(request); return person.answer(request) })
  const session = new Session({ header: { id: 's', createdAt: 0, cwd } })
  const call = (name: string, args: object, signal = new AbortController().signal) =>
    ctx.tools.execute({ type: 'tool-call', id: 'c', name, arguments: JSON.stringify(args) }, { signal, session })
  const text = async (name: string, args: object) => textOf(await call(name, args))
  return { ctx, cwd, asked, person, call, text, put, get: (path: string) => readFileSync(join(cwd, path), 'utf8') }
}

const textOf = ({ content }: ToolOutcome) => (content[0] as { text: string }).text
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('')

describe('read', () => {
  it.each([
    ['as it is', 'one\ntwo\n', {}, 'one\ntwo\n'],
    ['with plain line ends and no byte order mark', '\uFEFFone\r\ntwo\r\n', {}, 'one\ntwo\n'],
    ['from a line on', numbered(5), { offset: 4 }, 'line 4\nline 5\n'],
    ['up to a line, saying how to go on', numbered(5), { offset: 2, limit: 2 }, 'line 2\nline 3\n[lines 2 to 3 of 5; go on with offset 4]'],
    ['up to as many lines as one call returns', numbered(15), {}, `${numbered(10)}[lines 1 to 10 of 15; go on with offset 11]`],
    ['up to as many characters as one call returns', `${'a'.repeat(60)}\n${'b'.repeat(60)}\n`, {}, `${'a'.repeat(60)}\n[lines 1 to 1 of 2; go on with offset 2]`],
    ['without the rest of a line that is longer still', `${'a'.repeat(99)}👍b\nc`, {}, `${'a'.repeat(99)}\n[line 1 is 103 characters long and cut here; print what you need of it with a command]\n[lines 1 to 1 of 2; go on with offset 2]`],
    ['though it is empty', '', {}, '[the file is empty]'],
    ['though it is not all UTF-8', Buffer.from('caf\xe9\n', 'latin1'), {}, 'caf\uFFFD\n[where � stands, the file may hold bytes that are no UTF-8]'],
  ])('shows a file %s', async (_title, content, args, expected) => {
    const { text, asked } = await stage({ a: content }, { maxReadLines: 10, maxReadChars: 100 })
    expect(await text('read', { path: 'a', ...args })).toBe(expected)
    expect(asked).toEqual([])
  })

  it('shows an image', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000000d4948445200000002000000030806000000', 'hex')
    const { call } = await stage({ 'a.png': png })
    expect((await call('read', { path: 'a.png' })).content).toEqual([{ type: 'image', mediaType: 'image/png', data: png.toString('base64'), width: 2, height: 3 }])
  })

  it.each([
    ['what is not there', { path: 'none' }, 'NOT_FOUND', 'There is no none. List the folder'],
    ['a folder', { path: '.' }, 'IS_FOLDER', '. is a folder. Use list.'],
    ['binary data', { path: 'binary' }, 'NOT_TEXT', 'binary is binary (3 bytes)'],
    ['lines behind the last', { path: 'a', offset: 3 }, 'OUT_OF_RANGE', 'a has 2 lines; there is no line 3.'],
    ['what is too large', { path: 'large' }, 'TOO_LARGE', 'large is too large to read (2000 bytes)'],
    ['an image that is too large', { path: 'image' }, 'TOO_LARGE', 'at most 100 can be shown'],
  ])('refuses %s', async (_title, args, code, words) => {
    const { call } = await stage({ a: 'one\ntwo\n', binary: 'a\0b', large: 'x'.repeat(2_000), image: `GIF89a${'x'.repeat(200)}` }, { maxFileBytes: 1_000, maxImageBytes: 100 })
    const outcome = await call('read', args)
    expect(outcome).toMatchObject({ isError: true, error: { code } })
    expect(textOf(outcome)).toContain(words)
  })
})

describe('looking', () => {
  it('is free in the project and among temporary files, and asked for everywhere else, links followed', async () => {
    const { cwd, call, asked, person } = await stage({ a: 'x' })
    symlinkSync('/etc', join(cwd, 'link'))
    person.answer = () => ({ kind: 'deny' })
    for (const path of ['a', './a', `${cwd}/a`, `${cwd}/../${projects}/a`, tmpdir()]) await call('list', { path })
    expect(asked).toEqual([])
    for (const [tool, path] of [['read', '/etc/hosts'], ['list', `~/${relative(homedir(), '/etc')}`], ['search', 'link']] as const) {
      expect(await call(tool, { path, pattern: tool === 'search' ? 'x' : undefined })).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
    }
    expect(asked.map(({ scope }) => scope)).toEqual(['read outside the project', 'read outside the project', 'read outside the project'])
    expect(asked[0]!.title).toBe('Read /etc/hosts')
    expect(asked[2]!.title).toBe('Search /etc')
  })
})

describe('write', () => {
  it('makes a new file and its folders, once a person has seen it', async () => {
    const { text, asked, get } = await stage()
    expect(await text('write', { path: 'a/b/c.txt', content: 'one\ntwo\n' })).toBe('Wrote a/b/c.txt (new file, 2 lines).')
    expect(get('a/b/c.txt')).toBe('one\ntwo\n')
    expect(asked).toEqual([{ scope: 'write', title: 'Write a/b/c.txt (new file, 2 lines)', detail: '@@ -0,0 +1,2 @@\n+one\n+two\n' }])
  })

  it('replaces a file that was read, and keeps its mode, line ends and byte order mark', async () => {
    const { cwd, call, text, get, asked } = await stage({ a: '\uFEFFone\r\ntwo\r\n' })
    chmodSync(join(cwd, 'a'), 0o750)
    await call('read', { path: 'a' })
    const outcome = await call('write', { path: 'a', content: 'one\nthree\n' })
    expect(textOf(outcome)).toBe('Changed a (+1 −1).')
    expect(outcome.meta).toEqual({ path: 'a', added: 1, removed: 1, diff: '@@ -1,2 +1,2 @@\n one\r\n-two\r\n+three\r\n' })
    expect(get('a')).toBe('\uFEFFone\r\nthree\r\n')
    expect(statSync(join(cwd, 'a')).mode & 0o777).toBe(0o750)
    expect(readdirSync(cwd)).toEqual(['a'])
    expect(asked).toHaveLength(1)
    expect(await text('write', { path: 'a', content: 'one\nthree\n' })).toBe('a is that already; nothing was written.')
    expect(asked).toHaveLength(1)
  })

  it('goes through a link to what it names', async () => {
    const { cwd, text, get } = await stage({ 'a/file': 'old\n' })
    symlinkSync('a/file', join(cwd, 'link'))
    await text('read', { path: 'link' })
    expect(await text('write', { path: 'link', content: 'new\n' })).toBe('Changed a/file (+1 −1).')
    expect(get('a/file')).toBe('new\n')
    expect(get('link')).toBe('new\n')
  })

  it.each([
    ['a file that was not read', { path: 'a', content: 'x' }, 'NOT_READ', 'a exists, and you have not read it in this session'],
    ['a folder', { path: 'folder', content: 'x' }, 'IS_FOLDER', 'folder is a folder.'],
    ['binary data', { path: 'binary', content: 'x' }, 'NOT_TEXT', 'binary is not UTF-8 text'],
    ['below a file', { path: 'a/b', content: 'x' }, 'NO_FOLDER', 'The folder of a/b cannot be made'],
  ])('refuses to write over %s', async (_title, args, code, words) => {
    const { call, get } = await stage({ a: 'one\n', binary: 'a\0b', 'folder/x': '' })
    const outcome = await call('write', args)
    expect(outcome).toMatchObject({ isError: true, error: { code } })
    expect(textOf(outcome)).toContain(words)
    expect(get('a')).toBe('one\n')
  })

  it('of what is outside, or in .git, is another question', async () => {
    const { call, asked } = await stage()
    const { cwd: other } = await stage()
    await call('write', { path: join(other, 'a'), content: '' })
    await call('write', { path: '.git/hooks/pre-commit', content: '' })
    expect(asked).toEqual([
      { scope: 'write outside the project', title: `Write ${other}/a (new file, 0 lines)` },
      { scope: 'write in .git', title: 'Write .git/hooks/pre-commit (new file, 0 lines)' },
    ])
  })

  it('does not hold for where a link leads that came after the question', async () => {
    const { cwd, call, person } = await stage({ 'folder/a': 'one\n' })
    const away = mkdtempSync(join(root, 'away-'))
    person.answer = () => {
      rmSync(join(cwd, 'folder'), { recursive: true })
      symlinkSync(away, join(cwd, 'folder'))
      return { kind: 'allow' }
    }
    expect(await call('write', { path: 'folder/b', content: 'x' })).toMatchObject({ error: { code: 'CHANGED_ON_DISK' } })
    expect(readdirSync(away)).toEqual([])
  })

  it('that is denied writes nothing', async () => {
    const { cwd, call, person } = await stage()
    person.answer = () => ({ kind: 'deny', reason: 'no' })
    await call('write', { path: 'a/b', content: 'x' })
    expect(readdirSync(cwd)).toEqual([])
  })
})

it('nothing waits for a pipe or a device that never ends', async () => {
  const { cwd, call } = await stage()
  execFileSync('mkfifo', [join(cwd, 'pipe')])
  for (const path of ['pipe', '/dev/zero']) {
    expect(await call('read', { path })).toMatchObject({ error: { code: 'NOT_TEXT' } })
    expect(await call('search', { path, pattern: 'a' })).toMatchObject({ error: { code: 'NOT_TEXT' } })
    expect(await call('write', { path, content: 'a' })).toMatchObject({ isError: true })
  }
})

describe('edit', () => {
  it('changes what it names, without a read before it, once a person has seen the difference', async () => {
    const { text, get, asked } = await stage({ a: numbered(20) })
    const edits = [{ old: 'line 3\n', new: '' }, { old: 'line 10\n', new: 'ten\nand a half\n' }]
    expect(await text('edit', { path: 'a', edits })).toBe('Changed a (+2 −2).')
    expect(get('a')).toBe(numbered(20).replace('line 3\n', '').replace('line 10', 'ten\nand a half'))
    expect(asked).toEqual([{
      scope: 'write',
      title: 'Edit a (+2 −2)',
      detail: '@@ -1,13 +1,13 @@\n line 1\n line 2\n-line 3\n line 4\n line 5\n line 6\n line 7\n line 8\n line 9\n-line 10\n+ten\n+and a half\n line 11\n line 12\n line 13\n',
    }])
  })

  it('shows a person the beginning of a difference that is long', async () => {
    const { text, asked } = await stage({ a: numbered(100) }, { maxDiffChars: 50 })
    await text('edit', { path: 'a', edits: [{ old: 'line', new: 'row', all: true }] })
    expect(asked[0]!.detail).toMatch(/^@@ -1,100 \+1,100 @@\n-line 1\n-line 2\n-line 3\n… 197 more lines of this diff\n$/)
  })

  it.each([
    ['what is not there', { path: 'none', edits: [{ old: 'a', new: 'b' }] }, 'NOT_FOUND', 'There is no none'],
    ['a text that is not there', { path: 'a', edits: [{ old: 'three', new: 'b' }] }, 'NO_SINGLE_MATCH', 'a was not changed. The old text is not in the file'],
    ['a text that is there twice', { path: 'a', edits: [{ old: 'o', new: 'b' }] }, 'NO_SINGLE_MATCH', 'The old text is there 2 times, at lines 1, 2.'],
    ['what is no text', { path: 'binary', edits: [{ old: 'a', new: 'b' }] }, 'NOT_TEXT', 'not UTF-8'],
    ['no edits', { path: 'a', edits: [] }, 'TOOL_ARGUMENTS_INVALID', 'edits'],
  ])('refuses %s, and asks nobody', async (_title, args, code, words) => {
    const { call, get, asked } = await stage({ a: 'one\ntwo\n', binary: 'a\0b' })
    const outcome = await call('edit', args)
    expect(outcome).toMatchObject({ isError: true, error: { code } })
    expect(textOf(outcome)).toContain(words)
    expect(get('a')).toBe('one\ntwo\n')
    expect(asked).toEqual([])
  })
})

describe('a file that somebody else changes', () => {
  const edit = { path: 'a', edits: [{ old: 'one', new: 'two' }] }

  it('must be read again before the model changes it', async () => {
    const { call, text, put, get } = await stage({ a: 'one\n' })
    await call('read', { path: 'a' })
    put('a', 'one and more\n')
    for (const [tool, args] of [['edit', edit], ['write', { path: 'a', content: 'x' }]] as const) {
      expect(await call(tool, args)).toMatchObject({ isError: true, error: { code: 'CHANGED_ON_DISK' } })
    }
    await call('read', { path: 'a' })
    expect(await text('edit', edit)).toBe('Changed a (+1 −1).')
    expect(get('a')).toBe('two and more\n')
  })

  it('is known to the model after it wrote it itself', async () => {
    const { text } = await stage()
    await text('write', { path: 'a', content: 'one\n' })
    expect(await text('edit', edit)).toBe('Changed a (+1 −1).')
    expect(await text('write', { path: 'a', content: 'three\n' })).toBe('Changed a (+1 −1).')
  })

  it('while a person is asked, is left as it is then', async () => {
    const { cwd, call, put, get, person } = await stage({ a: 'one\n' })
    person.answer = () => {
      put('a', 'other, one\n')
      return { kind: 'allow' }
    }
    expect(await call('edit', edit)).toMatchObject({ isError: true, error: { code: 'CHANGED_ON_DISK' } })
    person.answer = () => {
      put('new', 'other\n')
      return { kind: 'allow' }
    }
    expect(await call('write', { path: 'new', content: 'mine\n' })).toMatchObject({ isError: true, error: { code: 'CHANGED_ON_DISK' } })
    expect([get('a'), get('new')]).toEqual(['other, one\n', 'other\n'])
    expect(readdirSync(cwd).toSorted()).toEqual(['a', 'new'])
  })

  it('is known to one session and not to another', async () => {
    const { ctx, cwd, call } = await stage({ a: 'one\n' })
    await call('read', { path: 'a' })
    const session = new Session({ header: { id: 'other', createdAt: 0, cwd } })
    const outcome = await ctx.tools.execute({ type: 'tool-call', id: 'c', name: 'write', arguments: '{"path": "a", "content": "x"}' }, { signal: new AbortController().signal, session })
    expect(outcome).toMatchObject({ error: { code: 'NOT_READ' } })
  })
})

describe('list', () => {
  it('names what is in a folder, as deep as it is told', async () => {
    const { text, cwd } = await stage({ 'src/a/b': '', 'src/c': '', '.gitignore': 'out\n', out: '' })
    symlinkSync('src', join(cwd, 'to-src'))
    expect(await text('list', {})).toBe('.gitignore\nsrc/\nto-src (link)')
    expect(await text('list', { path: 'src', depth: 2 })).toBe('a/\na/b\nc')
    mkdirSync(join(cwd, 'empty'))
    expect(await text('list', { path: 'empty' })).toBe('[nothing, or nothing that .gitignore does not name]')
  })

  it('has an end', async () => {
    const { text } = await stage({ a: '', b: '', c: '' }, { maxListEntries: 2 })
    expect(await text('list', {})).toBe('a\nb\n[only the first 2; list a folder below, or with less depth]')
  })

  it('refuses what is no folder', async () => {
    const { call } = await stage({ a: '' })
    expect(await call('list', { path: 'a' })).toMatchObject({ error: { code: 'IS_FILE' } })
    expect(await call('list', { path: 'none' })).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })
})

describe('search', () => {
  const files = { 'src/a.ts': 'one\nneedle\n', 'src/b.js': 'needle\nneedle\n', 'c.ts': 'Needle\n' }

  it('names files as the other tools take them', async () => {
    const { text, cwd } = await stage(files)
    expect(await text('search', { pattern: 'needle' })).toBe('src/a.ts\n2: needle\n\nsrc/b.js\n1: needle\n2: needle\n')
    expect(await text('search', { pattern: 'needle', path: 'src', glob: '*.ts', context: 1 })).toBe('src/a.ts\n1- one\n2: needle\n')
    expect(await text('search', { pattern: 'needle', path: 'src/a.ts' })).toBe('src/a.ts\n2: needle\n')
    expect(await text('search', { pattern: 'needle', path: cwd, glob: '/*.ts', ignoreCase: true })).toBe('c.ts\n1: Needle\n')
    expect(await text('search', { pattern: 'nothing' })).toBe('No matches.')
  })

  it('has an end', async () => {
    const { call } = await stage(files, { maxMatches: 2 })
    const outcome = await call('search', { pattern: 'needle' })
    expect(textOf(outcome)).toBe('src/a.ts\n2: needle\n\nsrc/b.js\n1: needle\n\n[only the first 2 matches; narrow the pattern, the path or the glob]')
    expect(outcome.meta).toEqual({ path: '.', files: 2, matches: 2 })
  })

  it.each([
    ['a pattern that is none', { pattern: 'a(b' }, 'INVALID_PATTERN'],
    ['a place that is none', { pattern: 'a', path: 'none' }, 'NOT_FOUND'],
  ])('refuses %s', async (_title, args, code) => {
    const { call } = await stage(files)
    expect(await call('search', args)).toMatchObject({ isError: true, error: { code } })
  })
})

it('refuses a configuration that it does not know', async () => {
  await expect(stage({}, { maxLines: 3 } as never)).rejects.toThrow('maxLines')
})
