import fc from 'fast-check'
import { expect, it } from 'vitest'
import { scopeOf } from '../src/scope.ts'

it.each([
  ['ls', 'shell: ls'],
  ['ls -la src', 'shell: ls -la'],
  ['  cat README.md\n', 'shell: cat'],
  ['git status', 'shell: git status'],
  ['git add src/a.ts src/b.ts', 'shell: git add'],
  ["git commit -am 'one fix'", 'shell: git commit -am'],
  ['git commit --amend --no-edit', 'shell: git commit --amend --no-edit'],
  ['git diff HEAD~1', 'shell, exactly: git diff HEAD~1'],
  ['npm test', 'shell: npm test'],
  ['npm test -- pairing', 'shell: npm test --'],
  ['npm run build', 'shell: npm run build'],
  ['npm run build extra', 'shell: npm run build'],
  ['npm run', 'shell, exactly: npm run'],
  ['npm run --if-present x', 'shell, exactly: npm run --if-present x'],
  ['pytest tests/a.py -x', 'shell: pytest -x'],
  ['vitest run packages/a', 'shell: vitest run'],
  ['vitest', 'shell, exactly: vitest'],
  ['pytest -q tests/a.py', 'shell: pytest -q'],
  ['grep -rn word src', 'shell: grep -rn'],
  ['grep "a b" src', 'shell: grep'],
])('%s may be allowed with other operands where that is harmless', (command, scope) => {
  expect(scopeOf(command)).toBe(scope)
})

it.each([
  ['git diff --output a.patch src', 'shell: git diff --output a.patch'],
  ['git log --output=a.txt src', 'shell: git log --output=a.txt'],
  ['tree -o list.txt src', 'shell: tree -o list.txt'],
  ['rg --pre ./a.sh word', 'shell: rg --pre ./a.sh'],
  ['go test ./... -exec rm', 'shell: go test -exec rm'],
  ['pytest -p plugin tests', 'shell: pytest -p plugin'],
  ["eslint -c 'a b.js' src", "shell: eslint -c 'a b.js'"],
  ['npm run deploy -- --to staging', 'shell: npm run deploy -- --to staging'],
])('%s keeps what an option of it may write or run', (command, scope) => {
  expect(scopeOf(command)).toBe(scope)
})

it('an operand that is a link out of the folder makes a command exact', () => {
  const isAway = (operand: string): boolean => operand === 'link/secret'
  expect(scopeOf('cat a link/secret', undefined, isAway)).toBe('shell, exactly: cat a link/secret')
  expect(scopeOf('cat "link/secret"', undefined, isAway)).toBe('shell, exactly: cat "link/secret"')
  expect(scopeOf('cat a', undefined, isAway)).toBe('shell: cat')
})

it.each([
  'rm -r out', 'git push', 'git checkout .', 'git -c core.pager=x diff', 'sudo ls', 'bash a.sh', 'node a.js', 'python -c 1', 'npx jest', 'xargs ls', 'env ls',
  './ls', '/bin/ls', 'FOO=1 ls', 'PATH=. ls',
  'cat /etc/passwd', 'cat ../secret', 'cat a/../../b', 'git show HEAD:../x', 'cat ~/.ssh/id_rsa', 'grep x -- /etc',
  'ls; rm a', 'ls && rm a', 'ls || rm a', 'ls | sh', 'ls & rm a', 'ls > a', 'cat < a', 'cat <<E', 'ls $(rm a)', 'ls `rm a`', 'ls $HOME', 'ls "$(rm a)"', 'ls "`rm a`"', 'ls *', 'ls a?', 'ls [a]', 'ls {a,b}',
  'ls\nrm a', 'ls \\\nrm a', 'ls a\\ b', 'ls (a)', '(ls)', '! ls', 'ls # a', "ls 'a", 'ls "a', "ls a'b'", "'ls' a", "ls '-la'", 'ls "--x y"', 'ls\u00a0a', 'ls a\u2028b', 'ls\ra', '',
])('%j is allowed only exactly as it was written', command => {
  expect(scopeOf(command)).toBe(`shell, exactly: ${command}`)
})

it('another folder is another scope', () => {
  expect(scopeOf('npm test', '/other')).toBe('shell in "/other": npm test')
  expect(scopeOf('make && make install', '/other')).toBe('shell in "/other", exactly: make && make install')
})

const word = fc.constantFrom('ls', 'cat', 'git', 'diff', 'log', 'npm', 'run', 'test', 'a.ts', '-x', '--out=b', "'a b'", '"c d"', 'src/b')
const command = fc.array(word, { minLength: 1, maxLength: 6 }).map(words => words.join(' '))

it('a scope names a command of that very scope, and keeps every option', () => {
  let known = 0
  fc.assert(fc.property(command, text => {
    const [, scope] = /^shell: (.*)$/.exec(scopeOf(text)) ?? []
    if (scope === undefined) return
    known += 1
    expect(scopeOf(scope)).toBe(`shell: ${scope}`)
    expect(scope.split(' ').filter(part => part.startsWith('-'))).toEqual(text.split(' ').filter(part => part.startsWith('-')))
  }), { seed: 1, numRuns: 2_000 })
  expect(known).toBeGreaterThan(200)
})

it('whatever a shell reads as more than words makes a command exact, wherever it stands', () => {
  const special = fc.constantFrom(...';&|<>$`\\(){}[]*?~!#\n\r')
  fc.assert(fc.property(command, special, fc.nat(), (text, char, at) => {
    const place = at % (text.length + 1)
    const changed = `${text.slice(0, place)}${char}${text.slice(place)}`
    const quoted = /'[^']*$/.test(text.slice(0, place).replaceAll(/'[^']*'/g, '')) || /"[^"]*$/.test(text.slice(0, place).replaceAll(/"[^"]*"/g, ''))
    const atEdge = char === '\n' && (changed.startsWith('\n') || changed.endsWith('\n'))
    if (!quoted && !atEdge) expect(scopeOf(changed)).toBe(`shell, exactly: ${changed}`)
  }), { seed: 2, numRuns: 2_000 })
})
