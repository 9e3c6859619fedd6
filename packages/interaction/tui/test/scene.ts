/**
 * A scene to look at: `node packages/interaction/tui/test/scene.ts`, without a key. What is said decides what is played:
 * `tools`, `edit`, `flood`, `long`, `fail`, anything else is answered.
 */
import type { ContentBlock, GenerateOptions, LlmAdapter, StreamChunk } from '@deepseek-ai/dsh-llm'
import { chunksOf, LlmError, textOf } from '@deepseek-ai/dsh-llm'
import type { Tool } from '@deepseek-ai/dsh-tools'
import { setTimeout as sleep } from 'node:timers/promises'
import { stage } from './stage.ts'

const ANSWER = `# What I found

The **reader** drops the last line when the file has no line feed at its end. See \`src/reader.ts\`:

\`\`\`ts
function lines(text: string): string[] {
  return text.split('\\n').slice(0, -1) // ← here
}
\`\`\`

1. Keep the last line unless it is empty
2. Test both kinds of file

| file | lines | 宽字符 |
|---|---|---|
| a.txt | 3 | 你好，世界 |
| b.txt | 0 | 🎉 👩‍💻 |

> Nothing else depends on it.
`

const call = (id: string, name: string, args: unknown): ContentBlock => ({ type: 'tool-call', id, name, arguments: JSON.stringify(args) })
const DIFF = `--- a/src/reader.ts
+++ b/src/reader.ts
@@ -1,3 +1,4 @@
 function lines(text: string): string[] {
-  return text.split('\\n').slice(0, -1)
+  const lines = text.split('\\n')
+  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
 }
`

function reply({ messages, purpose }: GenerateOptions, failures: { left: number }): readonly ContentBlock[] {
  if (purpose === 'compaction') return [{ type: 'text', text: '## Goal\nFix the reader.\n\n## Done\n- looked at `src/reader.ts`\n- found that the last line is dropped' }]
  const last = messages.at(-1)!
  const said = last.role === 'user' ? textOf(last.content) : ''
  const thought: ContentBlock = { type: 'reasoning', text: 'The person wants the reader fixed.\nFirst I look at the file, then at who calls it.\nThe last line seems to be lost when there is no line feed.' }
  if (said.includes('fail') && failures.left-- > 0) throw new LlmError({ code: 'RATE_LIMIT', message: 'slow down, please', retryAfterMs: 3_000 })
  if (said.includes('tools')) return [thought, { type: 'text', text: 'Let me look.' }, call('a', 'read', { path: 'src/reader.ts' }), call('b', 'shell', { command: 'npm test -- --run reader && echo "a rather long command line that goes on"' })]
  if (said.includes('edit')) return [call('e', 'edit', { path: 'src/reader.ts', old: 'slice', new: 'at' })]
  if (said.includes('flood')) return [call('f', 'flood', {})]
  if (said.includes('long')) return [{ type: 'text', text: ANSWER.repeat(8) }]
  return [thought, { type: 'text', text: ANSWER }]
}

class SlowAdapter implements LlmAdapter {
  readonly provider = 'scripted'
  readonly models = ['slow-1', 'slow-2']
  readonly origin = 'a script'
  private readonly failures = { left: 2 }
  modelInfo(): { contextWindow: number; prices: { input: number; output: number } } {
    return { contextWindow: Number(process.env['WINDOW'] ?? 8_000), prices: { input: 3, output: 15 } }
  }

  async *stream(options: GenerateOptions): AsyncGenerator<StreamChunk> {
    await sleep(options.purpose === undefined ? 400 : 3_000, undefined, { signal: options.signal })
    const content = reply(options, this.failures)
    const size = content.reduce((sum, block) => sum + ('text' in block ? block.text.length : 40), 0)
    const inputTokens = Math.ceil(JSON.stringify(options.messages).length / 4) + 300
    for (const chunk of chunksOf({ content, finish: content.some(block => block.type === 'tool-call') ? 'tool-calls' : 'stop', usage: { inputTokens, outputTokens: Math.ceil(size / 4) } }, Math.max(3, Math.ceil(size / 12)))) {
      await sleep(15, undefined, { signal: options.signal })
      yield chunk
    }
  }
}

const tools: Tool[] = [
  { name: 'read', parameters: { type: 'object' }, parallel: true, execute: async () => (await sleep(300), Array.from({ length: 40 }, (_, line) => `${line + 1}\tconst value${line} = ${line}`).join('\n')) },
  {
    name: 'shell', parameters: { type: 'object' },
    permission: args => ({ scope: 'shell: npm test', title: `Run ${String((args as { command: string }).command)}`, detail: String((args as { command: string }).command) }),
    async execute(_args, { output, signal }) {
      let text = ''
      for (let line = 1; line <= 40; line++) {
        const words = `\u001b[32m✓\u001b[0m test ${line}\tof the reader 测试\n`
        output(words)
        text += words
        await sleep(80, undefined, { signal })
      }
      return text
    },
  },
  {
    name: 'edit', parameters: { type: 'object' },
    permission: () => ({ scope: 'write', title: 'Edit src/reader.ts', detail: DIFF }),
    execute: () => ({ content: [{ type: 'text', text: 'Replaced one place.' }], meta: { diff: DIFF } }),
  },
  {
    name: 'flood', parameters: { type: 'object' },
    async execute(_args, { output, signal }) {
      for (let chunk = 0; chunk < 2_000; chunk++) {
        output(`${chunk} ${'x'.repeat(1_000)}\n`)
        if (chunk % 10 === 0) await sleep(20, undefined, { signal })
      }
      return 'the flood is over'
    },
  },
]

const { ctx, agent } = await stage(new SlowAdapter(), tools)
await ctx.tui.run({ agent, intro: 'A scene without a key. Say `tools`, `edit`, `flood`, `long` or `fail`.' })
await ctx.fiber.dispose()
