import { Context } from '@deepseek-ai/cordis'
import SystemPromptService from '@deepseek-ai/dsh-system-prompt'
import { Session } from '@deepseek-ai/dsh-session'
import { expect, it } from 'vitest'

const session = new Session({ header: { id: 's', createdAt: 0, cwd: '/here' } })

async function prompt() {
  const ctx = new Context()
  await ctx.plugin(SystemPromptService)
  return ctx
}

it('is undefined while nothing says anything', async () => {
  const ctx = await prompt()
  expect(ctx.systemPrompt.assemble(session)).toBeUndefined()
  ctx.systemPrompt.registerSection({ name: 'silent', text: () => '' })
  expect(ctx.systemPrompt.assemble(session)).toBeUndefined()
})

it('joins sections by order, then by registration, whatever the order of registration', async () => {
  const ctx = await prompt()
  ctx.systemPrompt.registerSection({ name: 'last', order: 10, text: 'last' })
  ctx.systemPrompt.registerSection({ name: 'a', text: 'a' })
  ctx.systemPrompt.registerSection({ name: 'first', order: -1, text: () => 'first' })
  ctx.systemPrompt.registerSection({ name: 'b', text: 'b' })
  expect(ctx.systemPrompt.assemble(session)).toBe('first\n\na\n\nb\n\nlast')
})

it('asks a function anew each time, for the session it is about', async () => {
  const ctx = await prompt()
  let n = 0
  ctx.systemPrompt.registerSection({ name: 'count', text: ({ header }) => `${++n} ${header.cwd}` })
  expect([ctx.systemPrompt.assemble(session), ctx.systemPrompt.assemble(session)]).toEqual(['1 /here', '2 /here'])
})

it('refuses a second section of one name and keeps the first', async () => {
  const ctx = await prompt()
  ctx.systemPrompt.registerSection({ name: 'rules', text: 'one' })
  expect(() => ctx.systemPrompt.registerSection({ name: 'rules', text: 'two' })).toThrow('"rules"')
  expect(ctx.systemPrompt.assemble(session)).toBe('one')
})

it('forgets a section when its disposer is called or its plugin unloads', async () => {
  const ctx = await prompt()
  const dispose = ctx.systemPrompt.registerSection({ name: 'own', text: 'own' })
  const plugin = Object.assign((inner: Context) => void inner.systemPrompt.registerSection({ name: 'plugin', text: 'plugin' }), { inject: ['systemPrompt'] })
  const fiber = await ctx.plugin(plugin)
  expect(ctx.systemPrompt.assemble(session)).toBe('own\n\nplugin')
  await fiber.dispose()
  expect(ctx.systemPrompt.assemble(session)).toBe('own')
  dispose()
  expect(ctx.systemPrompt.assemble(session)).toBeUndefined()
})
