/** Real adapters ask a real server that refuses, in every wording known: the turn ends well, with one reduction and one retry. */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { Session } from '@deepseek-ai/dsh-session'
import { describe, expect, it } from 'vitest'
import { POSITIVES, type Wording } from '../packages/llm/llm/test/wordings.ts'
import { bracketsOf, eventsOf, say, sized, SUMMARY, surfaceOf, turnEnds, typesOf } from './house.ts'
import { DIALECTS, expectSoundLodging, LOCAL, lodging, type Lodging } from './provider/house.ts'
import { asksForSummary, errorBody, refusal, type Act, type Answer } from './provider/script.ts'
import type { Sizes } from './provider/server.ts'

const WINDOW_TOKENS = 7_000
const HISTORY = [sized('u1', 2_000), sized('u2', 3_000), sized('u3', 4_000)]

/** What was said in this wording, with the sizes that are true here. */
function refusalIn({ id, status, code, text, limitTokens = NaN, requestedTokens = NaN }: Wording, { request: { dialect }, windowTokens, requestTokens }: Sizes): Answer {
  const message = text.replaceAll(String(limitTokens), String(windowTokens)).replaceAll(String(requestedTokens), String(requestTokens))
  if (id === 'E-ANT-4') return [{ finish: String(code) }]
  if (id === 'E-CER-1') return { status: status ?? 413, body: '' }
  if (id === 'E-MM-2' && dialect === 'openai') return [{ error: { choices: null, base_resp: { status_code: code, status_msg: message } } }]
  const body = id === 'E-OR-2' ? { error: { message: 'Provider returned error', code, metadata: { raw: JSON.stringify(errorBody('openai', message)) } } } : errorBody(dialect, message, code)
  return status === undefined || status === 200 ? [{ error: body }] : { status, body }
}

type Dialect = (typeof DIALECTS)[number]

function refusing(dialect: Dialect, refuse: (sizes: Sizes) => Answer, summaryTokens = 800): Promise<Lodging> {
  return lodging({
    dialect,
    window: { tokens: WINDOW_TOKENS, refuse },
    script: request => (asksForSummary(request) ? SUMMARY : 'Done.'),
    house: { compaction: { maxTokens: summaryTokens } },
  })
}

/** What became of a conversation whose third message does not fit. */
function outcomeOf({ session }: { readonly session: Session }, requests: Lodging['provider']['served']): string {
  const retries = eventsOf(session, 'turn/start').filter(({ data }) => data.retry).length
  return `${turnEnds(session).join(', ')}; ${bracketsOf(session)}; ${retries} retry; ${requests.map(({ request }) => (asksForSummary(request) ? 'summary' : 'request')).join(' ')}`
}

const recovered = (failure: string): string =>
  `completed, completed, ${failure}, completed; start(context-overflow) summary(replay) checkpoint end; 1 retry; request request request summary request`

describe.each(DIALECTS)('in the dialect of %s', dialect => {
  it('every wording: one reduction, one retry, an answer', async () => {
    let wording: Wording
    const all = await refusing(dialect, sizes => refusalIn(wording, sizes))
    const others: string[] = []
    for (wording of POSITIVES) {
      const { session, agent } = await another(all)
      const before = all.provider.served.length
      for (const message of HISTORY) await say({ ...all, agent }, message)
      const outcome = outcomeOf({ session }, all.provider.served.slice(before))
      if (outcome !== recovered(wording.failure)) others.push(`${wording.id} ${wording.text.slice(0, 60)}: ${outcome}`)
      expectSoundLodging({ ...all, session })
    }
    console.log(`${dialect}: ${POSITIVES.length} wordings (${new Set(POSITIVES.map(({ id }) => id)).size} ids), ${POSITIVES.length - others.length} turns that ended well after one reduction and one retry`)
    expect(others).toEqual([])
    expect(all.warnings()).toEqual([])
  })

  let sessions = 0
  async function another({ ctx }: Lodging): Promise<{ session: Session; agent: Agent }> {
    const session = await ctx.get('sessions')!.create({ id: `another-${sessions++}` })
    return { session, agent: ctx.get('agents')!.create(session, { ...LOCAL, maxTokens: 1_000 }) }
  }

  const begun: Act[] = [{ reasoning: 'Hm.' }, { text: 'I begin to' }]
  it.each<[string, Act[]]>([
    ['in the middle of a text', begun],
    ['behind a whole call', [...begun, { call: { name: 'look', arguments: {} } }]],
  ])('said %s, it leaves nothing behind of that answer', async (_title, acts) => {
    const all = await refusing(dialect, () => [...acts, { error: errorBody(dialect, 'prompt is too long') }])
    const deltas: string[] = []
    all.ctx.on('agent/delta', (_agent, chunk) => void (chunk.type === 'text-delta' && deltas.push(chunk.text)))
    for (const message of HISTORY) await say(all, message)
    expect(deltas).toContain('I begin to') // a person saw it come
    expect(outcomeOf(all, all.provider.served)).toBe(recovered('CONTEXT_WINDOW_EXCEEDED'))
    expect(surfaceOf(all.session)).toBe('S Done. u3 Done.')
    expect(typesOf(all.session).filter(type => type === 'tool/call')).toEqual([])
    expect(JSON.stringify([...all.session.log.from(0)])).not.toContain('I begin')
    expect(eventsOf(all.session, 'step/end')).toHaveLength(eventsOf(all.session, 'step/start').length)
    expectSoundLodging(all)
  })

  it('silent: more was sent than the window holds, and the answer says nothing', async () => {
    const dense = `dense ${'!?'.repeat(1_500)}` // three thousand tokens where the meter expects five hundred
    const isFull = (texts: readonly string[]): boolean => texts.length > 4 && texts.at(-1) === dense
    const all = await lodging({
      dialect,
      script: request => (asksForSummary(request) ? SUMMARY : isFull(request.messages.map(({ text }) => text)) ? [{ finish: dialect === 'openai' ? 'length' : 'max_tokens' }] : 'Done.'),
      model: { contextWindow: 6_600 },
      house: { compaction: { maxTokens: 800 }, configs: new Map([['token-meter', { charsPerToken: 6 }]]) },
    })
    for (const message of [...HISTORY.slice(0, 2), dense]) await say(all, message)
    expect(all.provider.served.find(({ promptTokens }) => promptTokens > 6_600)).toMatchObject({ outcome: 'answered', outputTokens: 0 })
    expect(outcomeOf(all, all.provider.served)).toBe(recovered('CONTEXT_WINDOW_EXCEEDED'))
    expectSoundLodging(all)
  })

  it.each<[string, (sizes: Sizes) => Answer, string[]]>([
    // As a replay, as one transcript, in halves.
    ['that names no size', () => refusal(dialect, 400, 'prompt is too long'), ['refused', 'refused', 'answered', 'answered']],
    ['that names the window', ({ windowTokens, requestTokens }) => refusal(dialect, 400, `prompt is too long: ${requestTokens} tokens > ${windowTokens} maximum`), ['answered', 'answered']],
  ])('an overflow %s, of a conversation that no summary request has room for: it is asked for in parts', async (_title, refuse, outcomes) => {
    const all = await refusing(dialect, refuse, 1_500)
    for (const message of [sized('u1', 3_000), sized('u2', 4_700), sized('u3', 500)]) await say(all, message)
    expect(turnEnds(all.session)).toEqual(['completed', 'completed', 'CONTEXT_WINDOW_EXCEEDED', 'completed'])
    expect(bracketsOf(all.session)).toBe('start(context-overflow) summary(transcript) checkpoint end')
    const asked = all.provider.served.filter(({ request }) => asksForSummary(request))
    expect(asked.map(({ outcome }) => outcome)).toEqual(outcomes)
    expectSoundLodging(all)
  })

  it('a history that nothing makes fit: the provider’s own words end the turn, after one retry', async () => {
    const all = await refusing(dialect, ({ request }) => refusal(dialect, 400, `prompt is too long, says ${request.dialect}`))
    await say(all, sized('u1', 1_000))
    await say(all, sized('u2', 12_000))
    expect(turnEnds(all.session)).toEqual(['completed', 'CONTEXT_WINDOW_EXCEEDED', 'CONTEXT_WINDOW_EXCEEDED'])
    expect(eventsOf(all.session, 'turn/end').at(-1)!.data).toMatchObject({ failure: { message: `prompt is too long, says ${dialect}`, status: 400 } })
    expectSoundLodging(all)
  })

  it('the window it names is learned: the next time it is not exceeded', async () => {
    const all = await refusing(dialect, ({ windowTokens, requestTokens }) => refusal(dialect, 400, `prompt is too long: ${requestTokens} tokens > ${windowTokens} maximum`))
    for (const message of [...HISTORY, ...['u4', 'u5', 'u6', 'u7'].map(label => sized(label, 2_000))]) await say(all, message)
    expect(eventsOf(all.session, 'request/context').map(({ data }) => data.contextWindow)).toEqual([100_000, WINDOW_TOKENS])
    expect(all.provider.served.filter(({ outcome }) => outcome === 'refused')).toHaveLength(1)
    expect(bracketsOf(all.session)).toMatch(/^start\(context-overflow\).*start\(pressure\)/)
    expect(turnEnds(all.session).filter(end => end !== 'completed')).toHaveLength(1)
    expectSoundLodging(all)
  })
})
