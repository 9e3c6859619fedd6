import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import { describe, expect, it } from 'vitest'
import { digest, type DigestEntry } from '../src/digest.ts'
import { conversation, PLENTY, quarter } from './digest-conversation.ts'

describe('what a digest says', () => {
  it('keeps requests word for word and tells which of them were answered', () => {
    expect(digest(conversation('u:Rename the parser.\nKeep its tests.', 'a:Renamed.', 'u:Now the lexer, please.'), PLENTY, quarter)).toBe([
      '# Digest of the conversation',
      'Made from the log without a model. Numbers in brackets are log seqs, oldest first; quoted words are verbatim.',
      '',
      '## Primary Request and Intent',
      '- [0; answered 1] Rename the parser.',
      '  Keep its tests.',
      '- [2] Now the lexer, please.',
      '',
      '## Answers Given',
      '- [1] Renamed.',
    ].join('\n'))
  })

  it.each([
    ['a rule of the person', 'u:Fix the build. Never push to main! Is it true that you must ask?', 'Constraints and Standing Instructions', '- [0] Never push to main!'],
    ['no wish to know as a rule', 'u:Fix it. I want to know what we do not know. I don\'t want a rewrite.', 'Constraints and Standing Instructions', '- [0] I don\'t want a rewrite.'],
    ['a rule in Chinese', 'u:修复构建。不要提交到主分支。要不要先跑测试？', 'Constraints and Standing Instructions', '- [0] 不要提交到主分支。'],
    ['an open checkbox', 'a:The plan:\n- [x] read\n- [ ] write the test', 'Pending Tasks', '- [0] write the test'],
    ['an image by its size', [{ type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo', width: 640, height: 480 }], 'Primary Request and Intent', '- [0] [image 640×480]'],
  ] as [string, string | ContentBlock[], string, string][])('keeps %s', (_name, said, heading, line) => {
    const entries: DigestEntry[] = typeof said === 'string' ? conversation(said) : [{ seq: 0, from: 'person', message: { role: 'user', content: said } }]
    expect(section(entries, heading)).toBe(line)
  })

  it.each([
    ['Read', { file_path: '/r/a.ts' }, 'read /r/a.ts'],
    ['read', { path: 'a.ts', offset: 3 }, 'read a.ts'],
    ['ReadFile', { path: 'a.ts' }, 'read a.ts'],
    ['view_image', { path: '/tmp/shot.png' }, 'read /tmp/shot.png'],
    ['Write', { file_path: '/r/a.ts', content: 'x' }, 'wrote /r/a.ts'],
    ['edit', { path: 'a.ts', oldText: 'a', newText: 'b' }, 'wrote a.ts'],
    ['MultiEdit', { file_path: '/r/a.ts', edits: [] }, 'wrote /r/a.ts'],
    ['NotebookEdit', { notebook_path: '/r/n.ipynb', new_source: '1' }, 'wrote /r/n.ipynb'],
    ['str_replace_based_edit_tool', { command: 'create', path: '/r/a.ts', file_text: 'x' }, 'wrote /r/a.ts'],
    ['apply_patch', { input: '*** Begin Patch\n*** Update File: src/a.ts\n@@\n-a\n+b\n*** End Patch' }, 'wrote src/a.ts'],
    ['shell', { command: ['apply_patch', '*** Begin Patch\n*** Add File: src/new.ts\n+a\n*** End Patch'] }, 'wrote src/new.ts'],
    ['shell', { command: ['bash', '-lc', 'sed -n 1,80p src/a.ts'] }, 'read src/a.ts'],
    ['exec_command', { cmd: 'cd /r && cat src/a.ts | head -20' }, 'read /r/src/a.ts'],
    ['bash', { command: "sed -i 's/a/b/' src/a.ts" }, 'wrote src/a.ts'],
    ['Bash', { command: "cat > notes.md <<'EOF'\n# cat x.ts > y.ts\nEOF" }, 'wrote notes.md'],
    ['Bash', { command: 'echo hi | tee -a out.log >/dev/null 2>&1' }, 'wrote out.log'],
  ])('knows what %s %j does to files', (name, args, line) => {
    expect(section(conversation(`c:${name} ${JSON.stringify(args)}`, 'r:done'), 'Files and Code')).toBe(`- [0–1] ${line}`)
  })

  it.each([
    ['bash', 'npm test', '<returncode>1</returncode>\n<output>\n3 failed\nbye\n</output>', 'exit 1 · 3 failed'],
    ['exec_command', 'npm test', 'Chunk ID: 1\nWall time: 0.2 seconds\nProcess exited with code 0\nOutput:\n12 passed\n', 'exit 0 · 12 passed'],
    ['shell', 'npm test', '{"output":"12 passed\\n","metadata":{"exit_code":0,"duration_seconds":1}}', 'exit 0 · 12 passed'],
    ['bash', 'make', 'cc: gone\n\nCommand exited with code 2', 'exit 2 · cc: gone'],
    ['Bash', 'python x.py', '(eval):1: command not found: python', 'failed · (eval):1: command not found: python'],
    ['Bash', 'mkdir a', '', 'no output'],
  ])('tells how %s `%s` ended', (name, command, output, outcome) => {
    expect(section(conversation(`c:${name} ${JSON.stringify({ command })}`, `r:${output}`), 'Commands and Outcomes')).toBe(`- [0–1] ${command} → ${outcome}`)
  })

  it('keeps the lines of a failure that say what is wrong, and notes when the same call passed later', () => {
    const entries = conversation(
      'c:bash {"command":"npm test"}', 'r!:> test\nTypeError: x is not a function\n    at f (a.js:1)\n1 failed',
      'c:edit {"path":"a.js"}', 'r:ok',
      'c:bash {"command":"npm test"}', 'r:5 passed')
    expect(section(entries, 'Errors and Fixes')).toBe('- [0–1; passed 5] npm test → TypeError: x is not a function')
    expect(section(entries, 'Commands and Outcomes')).toBe('- [0–1, 4–5 ×2; failed 1×] npm test → 5 passed')
  })

  it('keeps searches apart from commands that change or prove something', () => {
    const entries = conversation('c:bash {"command":"grep -rn foo src | head"}', 'r:a\nb', 'c:Grep {"pattern":"foo","path":"src"}', 'r:a')
    expect(section(entries, 'Searches and Other Calls')).toBe('- [0–1] grep -rn foo src | head → 2 lines\n- [2–3] Grep pattern=foo path=src → 1 line')
    expect(section(entries, 'Commands and Outcomes')).toBeNull()
  })

  it('names the calls that were cut off', () => {
    expect(section(conversation('c:bash {"command":"npm run deploy"}', 'u:stop!'), 'Commands and Outcomes')).toBe('- [0] npm run deploy → no result: it was cut off')
  })

  it('takes the words with which a person declined a call as a request', () => {
    const declined = "r!:The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nno, never commit for me"
    const entries = conversation('c:Bash {"command":"git commit -m x"}', declined)
    expect(section(entries, 'Primary Request and Intent')).toBe('- [1] no, never commit for me')
    expect(section(entries, 'Commands and Outcomes')).toBe('- [0–1] git commit -m x → declined by the person')
  })

  it.each([
    ['TodoWrite', { todos: [{ content: 'read', status: 'completed' }, { content: 'write', status: 'in_progress' }, { content: 'test', status: 'pending' }] }],
    ['update_plan', { plan: [{ step: 'read', status: 'completed' }, { step: 'write', status: 'in_progress' }, { step: 'test', status: 'pending' }] }],
    ['SetTodoList', { todos: [{ title: 'read', status: 'done' }, { title: 'write', status: 'in_progress' }, { title: 'test', status: 'pending' }] }],
  ])('takes the newest list of %s', (name, list) => {
    const entries = conversation(`c:${name} {"todos":[{"content":"old","status":"pending"}]}`, 'r:ok', `c:${name} ${JSON.stringify(list)}`, 'r:ok')
    expect(section(entries, 'Pending Tasks')).toBe('- [2] write → in progress\n- [2] test')
  })

  it('follows todos that are created and updated one by one', () => {
    const entries = conversation(
      'c:TaskCreate {"subject":"Add the flag"}', 'r:Task #1 created successfully: Add the flag',
      'c:TaskCreate {"subject":"Document it"}', 'r:Task #2 created successfully: Document it',
      'c:TaskUpdate {"taskId":"1","status":"completed"}', 'r:Updated task #1 status',
      'c:TaskUpdate {"taskId":"2","status":"in_progress"}', 'r:Updated task #2 status')
    expect(section(entries, 'Pending Tasks')).toBe('- [6] #2 Document it → in progress')
  })

  it('never copies encoded bytes', () => {
    const payload = Buffer.from(Array.from({ length: 3_000 }, (_, index) => (index * 7919) % 251)).toString('base64')
    const text = digest(conversation(`u:Look: data:image/png;base64,${payload}`, `c:bash {"command":"echo ${payload}"}`, `r:${payload}`), PLENTY, quarter)
    expect(text).not.toContain(payload.slice(100, 140))
    expect(text.length).toBeLessThan(1_000)
  })

  it('survives arguments that are no JSON and results without a call', () => {
    expect(digest(conversation('c:bash {"command": "npm te', 'r:ok', 'r:orphan'), PLENTY, quarter)).toContain('- [0–1] bash {"command": "npm te → 1 line')
  })

  it('says nothing about nothing', () => {
    expect(digest([], PLENTY, quarter)).toBe('')
  })
})

/** The lines under a heading; null when the digest has no such section. */
function section(entries: readonly DigestEntry[], heading: string): string | null {
  const [, body] = digest(entries, PLENTY, quarter).split(`\n## ${heading}\n`)
  return body === undefined ? null : body.split('\n\n## ')[0]!
}
