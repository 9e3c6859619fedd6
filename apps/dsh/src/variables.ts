/**
 * The variables that are understood: of every adapter in the shipped composition, and our own.
 */
import { VARIABLES, type Variable } from '@deepseek-ai/dsh-llm-ai-sdk'
import { DEEPSEEK_VARIABLES } from '@deepseek-ai/dsh-llm-deepseek'

/** Those that give somebody a model. */
export const MODEL_VARIABLES: readonly Variable[] = [...DEEPSEEK_VARIABLES, ...VARIABLES]

export const OWN_VARIABLES: readonly Variable[] = [
  { name: 'DSH_MODEL', purpose: 'the model that answers, as provider/model' },
  { name: 'DSH_DATA_DIR', purpose: 'where sessions are kept' },
]

/** One line each, what `mark` says of it first. */
export function variableLines(variables: readonly Variable[], mark: (name: string) => string): string[] {
  const column = Math.max(...variables.map(({ name }) => name.length)) + 2
  return variables.map(({ name, purpose }) => `${mark(name)}${name.padEnd(column)}${purpose}`)
}
