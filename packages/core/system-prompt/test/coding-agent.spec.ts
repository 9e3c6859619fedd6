import { Context } from '@deepseek-ai/cordis'
import { Session } from '@deepseek-ai/dsh-session'
import SystemPromptService from '@deepseek-ai/dsh-system-prompt'
import codingAgent from '@deepseek-ai/dsh-system-prompt/coding-agent'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let cwd: string
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'dsh-prompt-'))
})
afterEach(() => rm(cwd, { recursive: true }))

async function prompts(): Promise<(session: Session) => string> {
  const ctx = new Context()
  await ctx.plugin(SystemPromptService)
  await ctx.plugin(codingAgent)
  return session => ctx.systemPrompt.assemble(session)!
}
const session = (): Session => new Session({ header: { id: 's', createdAt: Date.UTC(2026, 0, 2, 23, 59), cwd } })

it('says what the agent is, where it works and since when', async () => {
  const text = (await prompts())(session())
  expect(text).toMatch(/^You are dsh, a coding agent/)
  expect(text).toContain(`Working folder: ${cwd}\nPlatform: ${process.platform}\nThis session began on 2026-01-02.`)
  expect(text.length).toBeLessThan(2_000)
})

it('is the same in the next process, for the sake of the prefix cache', async () => {
  await writeFile(join(cwd, 'AGENTS.md'), 'Tabs.')
  expect((await prompts())(session())).toBe((await prompts())(session()))
})

describe('the instructions of the folder', () => {
  it('are read once a session', async () => {
    const [prompt, one] = [await prompts(), session()]
    await writeFile(join(cwd, 'CLAUDE.md'), 'Spaces.')
    const first = prompt(one)
    expect(first).toMatch(/from CLAUDE\.md:\n\nSpaces\.$/)
    await writeFile(join(cwd, 'AGENTS.md'), 'Tabs.')
    expect(prompt(one)).toBe(first)
    expect(prompt(session())).toMatch(/from AGENTS\.md:\n\nTabs\.$/)
  })

  it('are cut with a word of it when they are long', async () => {
    await writeFile(join(cwd, 'AGENTS.md'), 'rule '.repeat(100_000))
    const text = (await prompts())(session())
    expect(text.length).toBeLessThan(40_000)
    expect(text).toMatch(/\[AGENTS\.md goes on; read it for the rest\.\]$/)
  })

  it('leave no trace where there are none', async () => {
    expect((await prompts())(session())).not.toContain('Instructions')
  })
})
