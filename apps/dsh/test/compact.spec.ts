import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importTranscript } from '@deepseek-ai/dsh-transcript'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { OpenAiMessage } from '../src/openai-shape.ts'
import { pairingFaults } from '../src/request-check.ts'
import { dsh } from './run-dsh.ts'

let dir: string
let chat: string
let out: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'dsh-compact-'))
  chat = join(dir, 'chat.json')
  out = join(dir, 'out.json')
})
afterEach(() => rm(dir, { recursive: true }))

/** Steps of about 400 tokens, the last of them with an image. */
function conversation(steps: number): { messages: OpenAiMessage[]; tools: unknown[] } {
  const words = 'What the tool found in src/main.ts, line after line of it.\n'.repeat(25)
  const middle = Array.from({ length: steps }, (_, index): OpenAiMessage[] => [
    { role: 'assistant', content: `Step ${index}.`, tool_calls: [{ id: `call_${index}`, type: 'function', function: { name: 'look', arguments: `{"at":${index}}` } }] },
    { role: 'tool', tool_call_id: `call_${index}`, content: words },
  ]).flat()
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } } as const
  return {
    messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Look everywhere.' }, ...middle, { role: 'assistant', content: 'Done.' }, { role: 'user', content: [image] }],
    tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
  }
}

const written = async (): Promise<ReturnType<typeof conversation>> => JSON.parse(await readFile(out, 'utf8'))

describe('dsh compact', () => {
  it('writes checkpoint and tail, verbatim, in a form that goes on anywhere', async () => {
    const before = conversation(60)
    await writeFile(chat, JSON.stringify(before))
    const { code, stdout, stderr } = await dsh('compact', chat, '-o', out, '--window', '20000', '--invariants')
    expect({ code, stderr: stderr.replaceAll(/^replaying: .*\n/gm, '') }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^.*chat\.json \(openai-chat\): 123 messages, .* tokens → \d+ messages, .* tokens, in .*out\.json\n$/)
    const { messages, tools } = await written()
    expect(messages[0]).toEqual({ role: 'system', content: 'Be brief.' })
    expect(messages[1]).toMatchObject({ role: 'user', content: expect.stringContaining('Look everywhere.') })
    const tail = messages.slice(2)
    expect(tail).toEqual(before.messages.slice(-tail.length))
    expect(JSON.stringify(tail).length).toBeLessThan(JSON.stringify(before.messages).length / 4)
    expect(pairingFaults(messages)).toEqual({ orphanResults: 0, unansweredCalls: 0 })
    expect(tools).toEqual(before.tools)
    expect(importTranscript(await readFile(out), out)).toMatchObject({ format: 'openai-chat', skipped: [] })
  })

  it('leaves a conversation as it is that is all tail', async () => {
    const before = conversation(1)
    await writeFile(chat, JSON.stringify(before))
    const { code, stdout } = await dsh('compact', chat, '-o', '-')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual(before)
  })

  it('exits with 1 and writes nothing when no window of that size can hold it', async () => {
    await writeFile(chat, JSON.stringify([{ role: 'system', content: 'word '.repeat(8_000) }, { role: 'user', content: 'Hello.' }, { role: 'assistant', content: 'Hello.' }]))
    const { code, stdout, stderr } = await dsh('compact', chat, '-o', out, '--window', '4000')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('CONTEXT_WINDOW_EXCEEDED')
    expect(await readdir(dir)).toEqual(['chat.json'])
  })

  it.each<[string, string[], RegExp]>([
    ['nowhere to go', [], /required option '-o, --out <file>'/],
    ['a folder that is not there', ['-o', '/no/such/folder/out.json'], /no such file/],
    ['a model where there is none', ['-o', '-', '--summarizer', 'model'], /--summarizer model needs a model/],
  ])('exits with 2 for %s', async (_title, args, message) => {
    await writeFile(chat, JSON.stringify(conversation(1)))
    const { code, stdout, stderr } = await dsh('compact', chat, ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
