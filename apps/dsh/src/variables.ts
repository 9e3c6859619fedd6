/**
 * The variables that name a model, of every adapter in the shipped composition.
 */
import { VARIABLES, type Variable } from '@deepseek-ai/dsh-llm-ai-sdk'
import { DEEPSEEK_VARIABLES } from '@deepseek-ai/dsh-llm-deepseek'

export const MODEL_VARIABLES: readonly Variable[] = [...DEEPSEEK_VARIABLES, ...VARIABLES]

/** One line each, what `mark` says of it first. */
export function variableLines(mark: (name: string) => string): string[] {
  const column = Math.max(...MODEL_VARIABLES.map(({ name }) => name.length)) + 2
  return MODEL_VARIABLES.map(({ name, purpose }) => `${mark(name)}${name.padEnd(column)}${purpose}`)
}
