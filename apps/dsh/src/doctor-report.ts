/**
 * Doctor report: what was found, in lines for a person.
 *
 * Pure.
 */
import type { LlmAdapter, ModelInfo, TokenPrices } from '@deepseek-ai/dsh-llm'
import type { ModelChoice } from './choose-model.ts'
import { MODEL_VARIABLES, OWN_VARIABLES, variableLines } from './variables.ts'

const VARIABLES = [...MODEL_VARIABLES, ...OWN_VARIABLES]

export interface Diagnosis {
  readonly node: string
  readonly composition: { readonly path: string } & ({ readonly rows: readonly string[] } | { readonly fault: string })
  /** `fault` says why nothing can be written there. */
  readonly sessions: { readonly dir: string; readonly fault?: string | undefined }
  /** Whether a variable is set; its value is nobody's business. */
  readonly isSet: (name: string) => boolean
  readonly providers: readonly Pick<LlmAdapter, 'provider' | 'origin' | 'models'>[]
  readonly choice: ModelChoice
  /** Of the model that was chosen, if its provider knows it. */
  readonly info?: ModelInfo | undefined
  /** What is good to have on the PATH, and what for. */
  readonly programs: readonly { readonly name: string; readonly use: string; readonly path: string | undefined }[]
}

/** Whether a conversation could begin. */
export function isHealthy({ composition, sessions, choice }: Diagnosis): boolean {
  return 'rows' in composition && sessions.fault === undefined && 'route' in choice
}

export function doctorLines(diagnosis: Diagnosis): string[] {
  const { node, composition, sessions, isSet, providers, choice, info, programs } = diagnosis
  return [
    `✓ node ${node}`,
    'rows' in composition ? `✓ composition ${composition.path}` : `✗ composition: ${composition.fault}`,
    ...('rows' in composition ? [`    ${composition.rows.length} rows: ${composition.rows.join(', ')}`] : []),
    sessions.fault === undefined ? `✓ sessions in ${sessions.dir}` : `✗ sessions in ${sessions.dir}: ${sessions.fault}`,
    ...('route' in choice ? [`✓ model ${choice.route.provider}/${choice.route.model}: ${choice.why}`, ...figureLines(info)] : [`✗ model: ${choice.refusal}`]),
    '',
    'Providers',
    ...(providers.length === 0 ? ['  none has a key'] : providers.map(providerLine)),
    '',
    'Variables',
    ...variableLines(VARIABLES, name => (isSet(name) ? '  ✓ ' : '  – ')),
    '',
    'Programs',
    ...programs.map(({ name, use, path }) => (path === undefined ? `  – ${name} is not there: ${use}` : `  ✓ ${path}`)),
  ]
}

function figureLines(info: ModelInfo | undefined): string[] {
  if (info === undefined) return ['    its provider has no figures of it: its window is not known, and nothing is compacted before it overflows']
  const { contextWindow, maxOutputTokens, prices, source } = info
  return [
    contextWindow === undefined ? '    window not known: nothing is compacted before it overflows' : `    window ${count(contextWindow)} tokens`,
    ...(maxOutputTokens === undefined ? [] : [`    answers of up to ${count(maxOutputTokens)} tokens`]),
    prices === undefined ? '    prices not known' : `    ${priceText(prices)}`,
    ...(source === undefined ? [] : [`    as ${source} says`]),
  ]
}

function priceText({ input, cacheRead, cacheWrite, output }: TokenPrices): string {
  const parts = [`$${input} in`, ...(cacheRead === undefined ? [] : [`$${cacheRead} cached`]), ...(cacheWrite === undefined ? [] : [`$${cacheWrite} to the cache`]), `$${output} out`]
  return `${parts.join(', ')} a million tokens`
}

const MAX_MODELS = 4

function providerLine({ provider, origin, models = [] }: Diagnosis['providers'][number]): string {
  const shown = models.length <= MAX_MODELS ? models : [...models.slice(0, MAX_MODELS), '…']
  return `  ${provider}${origin === undefined ? '' : `: ${origin}`}${shown.length === 0 ? '' : `; ${shown.join(', ')}`}`
}

function count(tokens: number): string {
  return tokens.toLocaleString('en')
}
