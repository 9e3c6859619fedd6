// LangChain: an agent that clears old tool results, by its context editing middleware.
import { ClearToolUsesEdit, contextEditingMiddleware, countTokensApproximately } from 'langchain'
import { microsecondsEach } from '../measure.ts'
import { converse, history, loop, NEVER } from './langchain.mjs'

const clearing = tokens => contextEditingMiddleware({ edits: [new ClearToolUsesEdit({ trigger: { tokens } })] })

/** Where nothing is due it still prices everything and looks for the call of each result. */
function check(size) {
  const edit = new ClearToolUsesEdit({ trigger: { tokens: NEVER } })
  const messages = history(size)
  return () => microsecondsEach(() => edit.apply({ messages, countTokens: async all => countTokensApproximately(all) }))
}

export default {
  figures: { check, loop: loop(clearing(NEVER)) },
  converse: converse(windowTokens => clearing(windowTokens * 0.8)),
}
