import { expect, it } from 'vitest'
import { chooseModel, type ModelQuestion } from '../src/choose-model.ts'

const providers = [{ provider: 'bare' }, { provider: 'one', models: ['m', 'n'] }, { provider: 'router', models: ['lab/large'] }]

/** A route as text, or the words of a refusal. */
function chosen(question: Partial<ModelQuestion>): string {
  const choice = chooseModel({ providers, ...question })
  return 'refusal' in choice ? choice.refusal : `${choice.route.provider}/${choice.route.model} because ${choice.why}`
}

const last = { provider: 'one', model: 'n' }

it.each<[string, Partial<ModelQuestion>, string]>([
  ['the flag before all else', { flag: 'one/x', env: 'one/m', last }, 'one/x because --model says so'],
  ['then the environment', { env: 'one/m', last }, 'one/m because DSH_MODEL says so'],
  ['then what the session used', { last }, 'one/n because the session used it last'],
  ['then the first model of the first provider that names one', {}, 'one/m because the first model of one, the first provider there is'],
  ['not what the session used where its key is gone', { last: { provider: 'gone', model: 'x' } }, 'one/m because'],
  ['a provider alone means its first model', { flag: 'one' }, 'one/m because'],
  ['a model alone means whoever offers it', { flag: 'n' }, 'one/n because'],
  ['a model may have slashes', { flag: 'router/lab/small' }, 'router/lab/small because'],
  ['with or without its provider', { flag: 'lab/large' }, 'router/lab/large because'],
  ['empty is not given', { flag: '', env: '' }, 'one/m because'],
  ['a provider that names no model has to be asked for one', { flag: 'bare' }, '--model bare: say which model of bare, as bare/MODEL'],
  ['nor does a slash name one', { flag: 'one/' }, '--model one/: say which model'],
  ['a provider that is not there', { env: 'two/x' }, 'DSH_MODEL two/x: nothing offers that; the providers with a key are bare, one, router'],
  ['no provider at all', { flag: 'one/m', providers: [] }, '--model one/m: nothing offers that; no provider has a key'],
  ['nothing asked, nothing there', { providers: [] }, 'no provider has a key'],
  ['nothing asked, no model named', { providers: [{ provider: 'bare' }] }, 'bare names no models: choose one with --model bare/MODEL'],
])('%s', (_title, question, expected) => {
  expect(chosen(question)).toContain(expected)
})
