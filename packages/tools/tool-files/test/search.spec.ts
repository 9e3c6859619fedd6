import fc from 'fast-check'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { expandBraces, globOf } from '../src/glob.ts'
import { shownMatches, type FileMatches, type Searcher, type SearchRequest } from '../src/matches.ts'
import { ownSearch } from '../src/own-search.ts'
import { hasRipgrep, ripgrep } from '../src/ripgrep.ts'
import { walk } from '../src/walk.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-search-test-')))
afterAll(() => rmSync(root, { recursive: true }))
const signal = new AbortController().signal

let trees = 0
/** A folder with these files; a path that ends in a slash is a folder. */
function tree(files: { readonly [path: string]: string }): string {
  const folder = join(root, `${++trees}`)
  mkdirSync(folder)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(path.endsWith('/') ? join(folder, path) : dirname(join(folder, path)), { recursive: true })
    if (!path.endsWith('/')) writeFileSync(join(folder, path), text)
  }
  return folder
}

async function walked(folder: string, depth = Infinity): Promise<string[]> {
  return (await Array.fromAsync(walk(folder, { signal, depth }))).map(({ path, kind }) => (kind === 'folder' ? `${path}/` : path))
}

function requestFor(folder: string, request: Partial<SearchRequest>): SearchRequest {
  return { folder, file: null, pattern: 'x', ignoreCase: false, contextLines: 0, isWanted: () => true, names: null, maxMatches: 100, maxFileBytes: 1_000_000, signal, ...request }
}

describe('a walk', () => {
  it('goes by name, into hidden folders, and not into .git or along links', async () => {
    const folder = tree({ 'b/c': '', a: '', '.hidden/d': '', '.git/config': '', 'b.txt': '' })
    symlinkSync(folder, join(folder, 'loop'))
    expect(await walked(folder)).toEqual(['.hidden/', '.hidden/d', 'a', 'b/', 'b/c', 'b.txt', 'loop'])
    expect(await walked(folder, 1)).toEqual(['.hidden/', 'a', 'b/', 'b.txt', 'loop'])
  })

  it('leaves out what is ignored, the innermost rule having the last word', async () => {
    const folder = tree({
      '.gitignore': '*.log\n/out/\nnode_modules\n!keep.log\n',
      'a.log': '', 'keep.log': '', 'out/x': '', 'src/out/x': '', 'src/a.log': '', 'src/node_modules/x': '',
      'src/.gitignore': '!a.log\nlocal\n', 'src/local': '', local: '',
    })
    expect(await walked(folder)).toEqual(['.gitignore', 'keep.log', 'local', 'src/', 'src/.gitignore', 'src/a.log', 'src/out/', 'src/out/x'])
  })

  it('minds the folders above it, up to the top of the repository', async () => {
    const folder = tree({ '.gitignore': '*.txt\n', 'repository/.git/': '', 'repository/.gitignore': '*.log\n', 'repository/src/a.log': '', 'repository/src/a.txt': '' })
    expect(await walked(join(folder, 'repository/src'))).toEqual(['a.txt'])
  })

  it('enters an ignored folder that it is told to', async () => {
    const folder = tree({ '.git/': '', '.gitignore': 'node_modules\n', 'node_modules/a/b': '' })
    expect(await walked(join(folder, 'node_modules'))).toEqual(['a/', 'a/b'])
  })

  it('stops when it is cancelled', async () => {
    await expect(Array.fromAsync(walk(tree({ a: '' }), { signal: AbortSignal.abort(new Error('enough')) }))).rejects.toThrow('enough')
  })
})

describe('a glob', () => {
  it.each([
    ['*.ts', ['a.ts', 'b/c.ts'], ['a.js', 'ts']],
    ['*.{ts,tsx}', ['a.ts', 'b/c.tsx'], ['a.js']],
    ['src/**/*.ts', ['src/a.ts', 'src/b/c.ts'], ['a.ts', 'lib/src/a.ts']],
    ['./src', ['src/a', 'src/b/c'], ['other']],
    ['!*.test.ts', ['a.ts', 'b/c.ts', 'a.js'], ['a.test.ts', 'b/a.test.ts']],
  ])('%s', (glob, yes, no) => {
    const { matches } = globOf(glob)
    expect(yes.filter(matches)).toEqual(yes)
    expect(no.filter(matches)).toEqual([])
  })

  it('may have braces in braces', () => {
    expect(expandBraces('{a,b{1,2}}.{c,d}').toSorted()).toEqual(['a.c', 'a.d', 'b1.c', 'b1.d', 'b2.c', 'b2.d'])
    expect(expandBraces('{a}')).toEqual(['{a}'])
    expect(expandBraces('{a,b}'.repeat(20)).length).toBeLessThanOrEqual(100)
  })
})

describe('what is shown', () => {
  it('has a line for each line, and a mark where some are left out', () => {
    const lines = [{ number: 1, text: 'x', at: 0 }, { number: 2, text: 'y', at: null }, { number: 9, text: 'x', at: 0 }]
    expect(shownMatches('a/b', lines, true)).toBe('a/b\n1: x\n2- y\n--\n9: x\n')
  })

  it('shows of a long line what is around its match', () => {
    const [, line] = shownMatches('a', [{ number: 1, text: `${'-'.repeat(5_000)}needle${'-'.repeat(5_000)}`, at: 5_000 }], false).split('\n')
    expect(line).toMatch(/^1: …-{60}needle-{234}…$/)
  })
})

const installed = await hasRipgrep()
if (!installed) console.warn('ripgrep is not installed: its search is not tested')

describe.each<[string, Searcher, boolean]>([['the own search', ownSearch, true], ['ripgrep', ripgrep, installed]])('%s', (_name, search, isThere) => {
  const found = async (folder: string, request: Partial<SearchRequest>): Promise<FileMatches[]> => Array.fromAsync(search(requestFor(folder, request)))

  it.runIf(isThere)('finds lines, their places, and what is around them', async () => {
    const folder = tree({ 'a.txt': 'one\ntwo x\nthree\nfour\nfive\nsix x\nseven', 'b/c.txt': 'no\r\nx\r\n', d: 'y' })
    expect(await found(folder, { contextLines: 1 })).toEqual([
      { path: 'a.txt', lines: [
        { number: 1, text: 'one', at: null }, { number: 2, text: 'two x', at: 4 }, { number: 3, text: 'three', at: null },
        { number: 5, text: 'five', at: null }, { number: 6, text: 'six x', at: 2 }, { number: 7, text: 'seven', at: null },
      ] },
      { path: 'b/c.txt', lines: [{ number: 1, text: 'no', at: null }, { number: 2, text: 'x', at: 0 }] },
    ])
  })

  it.runIf(isThere)('looks into one file, though it is ignored', async () => {
    const folder = tree({ '.git/': '', '.gitignore': 'a\n', a: 'x\n', b: 'x\n' })
    expect((await found(folder, { file: 'a' })).map(({ path }) => path)).toEqual(['a'])
    expect((await found(folder, {})).map(({ path }) => path)).toEqual(['b'])
  })

  it.runIf(isThere)('looks only into what is wanted, is text, and is not too large', async () => {
    const folder = tree({ 'a.ts': 'x', 'b.js': 'x', 'c.ts': 'x\0', 'd.ts': 'x'.repeat(2_000), '.e.ts': 'x', '.git/f.ts': 'x' })
    const { matches, names } = globOf('*.ts')
    const paths = async (request: Partial<SearchRequest>) => (await found(folder, { ...request, maxFileBytes: 1_000 })).map(({ path }) => path)
    expect(await paths({ isWanted: matches })).toEqual(['.e.ts', 'a.ts'])
    expect(await paths({ isWanted: matches, names })).toEqual(['.e.ts', 'a.ts'])
  })

  it.runIf(isThere)('finds no more in a file than is wanted', async () => {
    expect((await found(tree({ a: 'x\n'.repeat(50) }), { maxMatches: 3 }))[0]!.lines).toHaveLength(3)
  })

  it.runIf(isThere)('takes case as it is told, and ends of lines where they are', async () => {
    const folder = tree({ a: 'Xy\r\nxy\r\n' })
    const numbers = async (request: Partial<SearchRequest>) => (await found(folder, request)).flatMap(({ lines }) => lines.map(({ number }) => number))
    expect(await numbers({ pattern: '^x' })).toEqual([2])
    expect(await numbers({ pattern: '^x', ignoreCase: true })).toEqual([1, 2])
    expect(await numbers({ pattern: '(?i)^x' })).toEqual([1, 2])
    expect(await numbers({ pattern: 'y$' })).toEqual([1, 2])
  })

  it.runIf(isThere)('says what is wrong with a pattern', async () => {
    await expect(found(tree({ a: 'x' }), { pattern: 'a(b' })).rejects.toMatchObject({ name: 'FileError', code: 'INVALID_PATTERN' })
  })

  it.runIf(isThere)('stops when it is cancelled', async () => {
    await expect(found(tree({ a: 'x' }), { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow()
  })
})

const name = fc.constantFrom('a', 'b', 'c.ts', 'd.log', '.e')
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map(names => names.join('/'))
const text = fc.array(fc.constantFrom('x', 'y', 'xy é', '', 'X 漢'), { maxLength: 6 }).chain(lines => fc.constantFrom('\n', '\r\n').map(end => lines.join(end)))
const rule = fc.constantFrom('a', 'b/', '*.log', '!d.log', '/a', 'a/b', '!a', '**/c.ts', '.e', '# a', 'b/*', '!b/a', '*', '!*/')
const rules = fc.array(rule, { maxLength: 4 }).map(lines => lines.join('\n'))
const project = fc.record({ files: fc.array(fc.tuple(path, text), { maxLength: 10 }), ignores: fc.array(fc.tuple(fc.option(path, { nil: '' }), rules), { maxLength: 3 }) })

/** Many small projects, each in a folder of its own. */
function projects(count: number, seed: number): string {
  const folder = tree({})
  for (const [index, { files, ignores }] of fc.sample(project, { numRuns: count, seed }).entries()) {
    for (const [at, content] of [...files, ...ignores.map(([at, content]) => [join(at, '.gitignore'), content] as const)]) {
      try {
        mkdirSync(dirname(join(folder, `${index}`, at)), { recursive: true })
        writeFileSync(join(folder, `${index}`, at), content)
      } catch {
        // A file and a folder of one name: the first stays.
      }
    }
  }
  return folder
}

const PROJECTS = 80
const many = projects(PROJECTS, 10)

it.runIf(installed).each([
  ['', { pattern: 'x' }],
  [', with lines around a match', { pattern: '^[^x]*$', contextLines: 1 }],
  [', in any case', { pattern: 'x$', contextLines: 2, ignoreCase: true }],
  [', beyond ASCII', { pattern: 'é|漢' }],
])(`the own search and ripgrep find the same in ${PROJECTS} projects%s`, async (_title, asked) => {
  const own = await Array.fromAsync(ownSearch(requestFor(many, asked)))
  expect(own).toEqual(await Array.fromAsync(ripgrep(requestFor(many, asked))))
  expect(own.length).toBeGreaterThan(30)
})

const hasGit = spawnSync('git', ['--version']).status === 0

it.runIf(hasGit)(`the walk leaves out what git leaves out of ${PROJECTS} projects, and the searches still agree`, async () => {
  spawnSync('git', ['init', '-q'], { cwd: many })
  const { stdout } = spawnSync('git', ['ls-files', '--others', '--exclude-standard', '-z'], { cwd: many, encoding: 'utf8' })
  const own = (await walked(many)).filter(at => !at.endsWith('/'))
  expect(own.toSorted()).toEqual(stdout.split('\0').filter(at => at !== '').toSorted())
  expect(own.length).toBeGreaterThan(100)
  if (installed) expect(await Array.fromAsync(ripgrep(requestFor(many, {})))).toEqual(await Array.fromAsync(ownSearch(requestFor(many, {}))))
})
