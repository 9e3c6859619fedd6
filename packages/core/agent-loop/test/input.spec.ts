import { pendingInput, type PreStepResult } from '@deepseek-ai/dsh-agent'
import { expectReplays } from '@deepseek-ai/dsh-session/testing'
import { describe, expect, it } from 'vitest'
import { calls, gate, harness, reread, story, tool } from './harness.ts'

describe('a queue', () => {
  it('opens one turn after another, each with its own message', async () => {
    const { agent, session } = await harness({ replies: ['1', '2', '3'] })
    for (const word of ['a', 'b', 'c']) agent.send(word)
    await agent.whenIdle()
    expect(story(session)).toBe(
      '+send +send +send turn1 u(a) [1 header(initial) context a(1) 1] /turn1(completed) turn2 u(b) [1 a(2) 1] /turn2(completed) turn3 u(c) [1 a(3) 1] /turn3(completed)',
    )
    expectReplays(session)
  })

  it('keeps a message sent during a turn for the next one', async () => {
    const { agent, session } = await harness({
      replies: [calls('', ['a', 'tell']), 'one', 'two'],
      tools: [tool('tell', () => { agent.send('later'); return 'ok' })],
    })
    agent.send('now')
    await agent.whenIdle()
    expect(story(session, 6)).toBe('a(a) call(a) +send result(a) 1] [2 a(one) 2] /turn1(completed) turn2 u(later) [1 a(two) 1] /turn2(completed)')
  })

  it('goes on after a turn that failed', async () => {
    const { agent, session } = await harness({ replies: [{ failure: { code: 'SERVER', message: 'down' } }, 'up'] })
    agent.send('a')
    agent.send('b')
    await agent.whenIdle()
    expect(story(session, 2)).toBe('turn1 u(a) [1 header(initial) context 1] /turn1(SERVER) turn2 u(b) [1 a(up) 1] /turn2(completed)')
  })

  it('goes on after a cancelled turn whose message had entered', async () => {
    const { agent, session } = await harness({ replies: [() => { agent.cancel('escape'); return 'never' }, 'next'] })
    agent.send('a')
    agent.send('b')
    await agent.whenIdle()
    expect(story(session, 2)).toBe('turn1 u(a) [1 header(initial) context 1] /turn1(aborted by escape) turn2 u(b) [1 a(next) 1] /turn2(completed)')
  })
})

describe('steering', () => {
  it('joins the next step', async () => {
    const { agent, session } = await harness({
      replies: [calls('', ['a', 'tell']), 'done'],
      tools: [tool('tell', () => { agent.steer('left'); return 'ok' })],
    })
    agent.send('go')
    await agent.whenIdle()
    expect(story(session, 6)).toBe('a(a) call(a) +steer result(a) 1] u(left) [2 a(done) 2] /turn1(completed)')
  })

  it('that arrives with the last answer keeps the turn going', async () => {
    const { agent, session } = await harness({ replies: [() => { agent.steer('wait'); return 'one' }, 'two'] })
    agent.send('go')
    await agent.whenIdle()
    expect(story(session, 2)).toBe('u(go) [1 header(initial) context +steer a(one) 1] u(wait) [2 a(two) 2] /turn1(completed)')
  })

  it('wakes an idle agent', async () => {
    const { agent, session } = await harness({ replies: ['yes'] })
    agent.steer('hello?')
    await agent.whenIdle()
    expect(story(session)).toBe('+steer turn1 u(hello?) [1 header(initial) context a(yes) 1] /turn1(completed)')
  })

  it('that arrives during agent/pre-step gets one more pass, and what comes during that one waits', async () => {
    const { ctx, agent, session } = await harness({ replies: ['one', 'two'] })
    const passes: string[][] = []
    ctx.on('agent/pre-step', (event, next) => {
      passes.push(event.messages.map(({ content }) => (content[0] as { text: string }).text))
      if (passes.length < 3) agent.steer(`steer ${passes.length}`)
      return next()
    })
    agent.send('go')
    await agent.whenIdle()
    expect(passes).toEqual([['go'], ['steer 1'], ['steer 2']])
    expect(story(session, 1)).toBe(
      'turn1 +steer u(go) +steer u(steer 1) [1 header(initial) context a(one) 1] u(steer 2) [2 a(two) 2] /turn1(completed)',
    )
    expectReplays(session)
  })
})

describe('injected context', () => {
  it('waits for somebody else to wake the agent, and enters in the order it was accepted', async () => {
    const { agent, session } = await harness({ replies: ['ok'] })
    agent.inject('first', { kind: 'plugin', plugin: 'clock' })
    expect(agent.status).toBe('idle')
    agent.send('go')
    agent.inject('last')
    await agent.whenIdle()
    expect(story(session)).toBe('+inject +send +inject turn1 u(first) u(go) u(last) [1 header(initial) context a(ok) 1] /turn1(completed)')
    expect(session.log.at(4)).toMatchObject({ data: { source: { kind: 'plugin', plugin: 'clock', inputId: 'input-0' } } })
  })

  it('does not keep a turn going', async () => {
    const { agent, session } = await harness({ replies: [() => { agent.inject('by the way'); return 'done' }, 'again'] })
    agent.send('a')
    await agent.whenIdle()
    expect(story(session, 7)).toBe('a(done) 1] /turn1(completed)')
    agent.send('b')
    await agent.whenIdle()
    expect(story(session, 10)).toBe('+send turn2 u(by the way) u(b) [1 a(again) 1] /turn2(completed)')
  })
})

describe('agent/pre-step', () => {
  it('may add, change and leave out messages; what it leaves out is withdrawn', async () => {
    const { ctx, agent, session } = await harness({ replies: ['ok'] })
    ctx.on('agent/pre-step', async (event, next) => {
      const result = await next()
      if (result.kind === 'reject') return result
      const kept = result.messages.filter(({ source }) => source.kind !== 'noise')
      return { kind: 'enter', messages: [{ content: [{ type: 'text', text: 'reminder' }], source: { kind: 'plugin' } }, ...kept] }
    })
    agent.inject('noise', { kind: 'noise' })
    agent.send('go')
    await agent.whenIdle()
    expect(story(session)).toBe('+inject +send turn1 u(reminder) u(go) - [1 header(initial) context a(ok) 1] /turn1(completed)')
    expect(pendingInput(session)).toEqual([])
  })

  it('that rejects ends the turn blocked and withdraws what was claimed; the queue goes on', async () => {
    const { ctx, agent, session, model } = await harness({ replies: ['fine'] })
    ctx.on('agent/pre-step', async (event, next): Promise<PreStepResult> => (event.turn === 1 ? { kind: 'reject' } : next()))
    agent.send('bad')
    agent.send('good')
    await agent.whenIdle()
    expect(story(session, 2)).toBe('turn1 - /turn1(blocked) turn2 u(good) [1 header(initial) context a(fine) 1] /turn2(completed)')
    expect(model.requests).toHaveLength(1)
    expectReplays(session)
  })

  it('enters an input once, however often it is returned', async () => {
    const { ctx, agent, session } = await harness({ replies: ['ok'] })
    ctx.on('agent/pre-step', async (event): Promise<PreStepResult> => ({ kind: 'enter', messages: [...event.messages, ...event.messages] }))
    agent.send('go')
    await agent.whenIdle()
    expect(story(session)).toContain('turn1 u(go) [1')
  })

  it('does not bring back what was withdrawn meanwhile', async () => {
    const { ctx, agent, session } = await harness({ replies: [] })
    ctx.on('agent/pre-step', (event, next) => {
      agent.withdraw(event.messages[0]?.source.inputId ?? '')
      return next()
    })
    agent.send('never mind')
    await agent.whenIdle()
    expect(story(session)).toBe('+send turn1 - /turn1(completed)')
  })
})

describe('input that waits', () => {
  it('survives a crash before it entered, and is processed when the resumed agent is woken', async () => {
    const first = await harness({ replies: [] })
    const stuck = gate()
    first.ctx.on('agent/pre-step', async (_event, next) => {
      await stuck.passed
      return next()
    })
    first.agent.send('a')
    first.agent.inject('context')
    await new Promise(resolve => setImmediate(resolve))
    const crashed = reread(first.session).slice(0, 2) // before turn/start was written
    expect(story(first.session)).toBe('+send +inject turn1')

    const { agent, session } = await harness({ replies: ['at last'], seed: crashed })
    expect(agent.status).toBe('idle')
    expect(pendingInput(session)).toHaveLength(2)
    agent.wake()
    await agent.whenIdle()
    expect(story(session)).toBe('+send +inject end-seed turn1 u(a) u(context) [1 header(initial) context a(at last) 1] /turn1(completed)')
    expectReplays(session)
  })

  it('comes before what is sent after the resume', async () => {
    const first = await harness({ replies: [] })
    first.session.append('inbox/spliced', { inserted: [{ inputId: 'old', kind: 'send', content: [{ type: 'text', text: 'old' }], source: { kind: 'user' } }] })
    const { agent, session } = await harness({ replies: ['1', '2'], seed: reread(first.session) })
    agent.send('new')
    await agent.whenIdle()
    expect(story(session)).toBe('+send end-seed +send turn1 u(old) [1 header(initial) context a(1) 1] /turn1(completed) turn2 u(new) [1 a(2) 1] /turn2(completed)')
  })

  it('waits for the parent, not for a fork of its session', async () => {
    const parent = await harness({ replies: [] })
    parent.session.append('inbox/spliced', { inserted: [{ inputId: 'old', kind: 'send', content: [{ type: 'text', text: 'old' }], source: { kind: 'user' } }] })
    const { agent, session } = await harness({ replies: ['1'], seed: reread(parent.session), parent: { id: 'p', seq: 1 } })
    expect(pendingInput(session)).toEqual([])
    agent.wake()
    expect(agent.status).toBe('idle')
    agent.send('new')
    await agent.whenIdle()
    expect(story(session)).toBe('+send end-seed +send turn1 u(new) [1 header(initial) context a(1) 1] /turn1(completed)')
  })
})
