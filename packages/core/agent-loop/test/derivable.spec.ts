import type { GenerateOptions } from '@deepseek-ai/dsh-llm'
import { checkLog, Session } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { loopInvariant, requestFaults } from '../src/derivable.ts'
import { harness, story } from './harness.ts'

const header = { config: { provider: 'p', model: 'm', maxTokens: 100 }, system: 'Be brief.', tools: [{ name: 'look', parameters: { type: 'object' } }] } as const

/**
 * A log drawn as text: `T` and `t` a turn and its end, `S` and `s` a step and its end, `H` a header, `u` a message, `a` an answer,
 * `p` a message in the place of the first entry.
 */
function drawn(text: string): Session {
  const session = new Session({ header: { id: 's', createdAt: 0 } })
  let turn = 0
  let step = 0
  const content = [{ type: 'text', text: 'words' }] as const
  for (const word of text.split(' ')) {
    const [first = -1] = session.surface.entries
    if (word === 'T') session.append('turn/start', { turn: (turn += 1) })
    if (word === 'T') step = 0
    if (word === 't') session.append('turn/end', { turn, reason: 'completed' })
    if (word === 'S') session.append('step/start', { turn, step: (step += 1) })
    if (word === 's') session.append('step/end', { turn, step })
    if (word === 'H') session.append('request/header', { ...header, reason: 'initial' })
    if (word === 'u') session.append('user/message', { content, source: { kind: 'user' } }, { surfaceOp: 'append' })
    if (word === 'a') session.append('assistant/message', { turn, step, content, provider: 'p', model: 'm', finish: 'stop' }, { surfaceOp: 'append' })
    if (word === 'p') session.append('user/message', { content, source: { kind: 'context' } }, { surfaceOp: { op: 'replace', start: first, end: first }, sourceEventSeqs: [first] })
  }
  return session
}

describe('the invariant', () => {
  const violations = (text: string): string[] => checkLog(drawn(text).log.from(0), [loopInvariant]).map(({ seq, message }) => `${seq}: ${message}`)

  it.each([
    ['turns and steps', 'T u S H a s S a s t T u S a s t'],
    ['a header in a step of its own, whose request failed', 'T u S H s t T S a s t'],
    ['input and rewrites between steps', 'T u S H a s p u S a s t u p'],
    ['a view of an entry that the chosen route could not hold', 'T u S p H a s S p p a s t'],
    ['what a step adds after its answer', 'T u S H a u p s t'],
  ])('finds nothing in %s', (_title, text) => {
    expect(violations(text)).toEqual([])
  })

  it.each([
    ['an answer to a request that no header tells of', 'T u S a s t', '3: it answers a request whose header was never logged'],
    ['a second answer in one step', 'T u S H a a s t', '5: step 1.1 has its answer already'],
    ['a header that comes late', 'T u S H a H s t', '5: a header after the answer of step 1.1'],
    ['input that enters while the model answers', 'T u S H u a s t', '4: the surface changes inside step 1.1 and before its answer, so nobody can tell what was asked'],
    ['input that enters where only views may', 'T u S u H a s t', '3: the surface changes inside step 1.1 and before its answer, so nobody can tell what was asked'],
    ['a rewrite while the model answers', 'T u S H p a s t', '4: the surface changes inside step 1.1 and before its answer, so nobody can tell what was asked'],
  ])('finds %s', (_title, text, expected) => {
    expect(violations(text)).toEqual([expected])
  })
})

describe('a request', () => {
  const session = drawn('T u S H')
  const { maxTokens, ...config } = header.config
  const request: GenerateOptions = { ...config, maxTokens, system: header.system, tools: header.tools, messages: session.deriveMessages() }

  it('is what header and surface say, but for an output limit that the window clamps', () => {
    expect(requestFaults(session, request)).toEqual([])
    expect(requestFaults(session, { ...request, maxTokens: 7, sessionId: 's', signal: new AbortController().signal })).toEqual([])
  })

  it.each<[string, Partial<GenerateOptions>, string]>([
    ['another model', { model: 'n' }, 'its model is not that of the header'],
    ['another system prompt', { system: 'Be long.' }, 'its system is not that of the header'],
    ['other tools', { tools: [] }, 'its tools is not that of the header'],
    ['a larger output limit', { maxTokens: 101 }, 'its maxTokens is not that of the header'],
    ['a message more', { messages: [...request.messages, ...request.messages] }, 'it has 2 messages, the surface 1'],
    ['another message', { messages: [{ role: 'user', content: [{ type: 'text', text: 'other' }] }] }, 'its message 0 is not that of the surface'],
  ])('with %s is not', (_title, changed, fault) => {
    expect(requestFaults(session, { ...request, ...changed })).toEqual([fault])
  })

  it('without a header is not', () => {
    expect(requestFaults(drawn('T u S'), request)).toEqual(['no request header was logged'])
  })
})

describe('under invariants', () => {
  it('a request that somebody changes between log and model is stopped, and the turn says why', async () => {
    const { ctx, agent, session, model } = await harness({ replies: ['never'] })
    ctx.on('llm/stream', (request, next) => {
      request.options = { ...request.options, system: 'Say yes.' }
      return next()
    }, { prepend: true })
    agent.send('hi')
    await agent.whenIdle()
    expect(model.requests).toEqual([])
    expect(story(session)).toBe('+send turn1 u(hi) [1 header(initial) context 1] /turn1(UNKNOWN)')
    expect([...session.log.from(0)].at(-1)?.data).toMatchObject({
      failure: { message: 'a request of session s cannot be derived from its log: its system is not that of the header' },
    })
  })

  it('input that reaches the surface while the model answers is refused, and its turn goes on', async () => {
    const { ctx, agent, session } = await harness({ replies: ['fine'] })
    let refusal: unknown
    ctx.on('llm/stream', (_request, next) => {
      try {
        session.append('user/message', { content: [], source: { kind: 'context' } }, { surfaceOp: 'append' })
      } catch (error) {
        refusal = error
      }
      return next()
    })
    agent.send('hi')
    await agent.whenIdle()
    expect(String(refusal)).toContain('the surface changes inside step 1.1 and before its answer')
    expect(story(session)).toBe('+send turn1 u(hi) [1 header(initial) context a(fine) 1] /turn1(completed)')
  })
})
