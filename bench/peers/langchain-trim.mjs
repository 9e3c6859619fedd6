// LangChain: an agent whose messages are trimmed before each request, as its page on short-term memory has it.
import { RemoveMessage, trimMessages } from '@langchain/core/messages'
import { REMOVE_ALL_MESSAGES } from '@langchain/langgraph'
import { countTokensApproximately, createMiddleware } from 'langchain'
import { microsecondsEach } from '../measure.ts'
import { converse, history, loop, NEVER } from './langchain.mjs'

const trim = (messages, maxTokens) =>
  trimMessages(messages, { maxTokens, strategy: 'last', tokenCounter: countTokensApproximately, startOn: 'human', endOn: ['human', 'tool'], includeSystem: true })

const trimming = maxTokens =>
  createMiddleware({
    name: 'TrimMessages',
    beforeModel: async ({ messages }) => ({ messages: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...(await trim(messages, maxTokens))] }),
  })

function check(size) {
  const messages = history(size)
  return () => microsecondsEach(() => trim(messages, NEVER))
}

export default {
  figures: { check, loop: loop(trimming(NEVER)) },
  converse: converse(windowTokens => trimming(windowTokens)),
}
