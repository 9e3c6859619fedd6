/**
 * tau-bench: an array of runs, each with a `traj` of chat messages; the user is a simulated customer.
 *
 * Pure. Runs are conversations of their own. A message's place is counted through all of them.
 */
import { chatObjection, skipOtherKeys } from './chat.ts'
import type { DocumentFormat } from './format.ts'
import { arrayAt, isObject, type JsonObject } from './json.ts'
import { readChat } from './openai-chat.ts'

const RUN_KEYS = new Set(['traj'])

export const tauBench: DocumentFormat = {
  name: 'tau-bench',
  expected: 'tau-bench trajectories (an array of runs with a task_id and a traj of messages with a role)',

  objection(document) {
    if (!Array.isArray(document)) return { message: 1, found: 'no array of runs' }
    const run = document.find(each => !isObject(each) || each.task_id === undefined || chatObjection(each.traj) !== null)
    if (document.length > 0 && run === undefined) return null
    return isObject(run) && run.task_id !== undefined ? chatObjection(run.traj) : { message: 1, found: 'no run with a task_id and a traj' }
  },

  read(document, builder) {
    let line = 1
    for (const run of document as readonly JsonObject[]) {
      const messages = arrayAt(run, 'traj').filter(isObject)
      skipOtherKeys(builder, run, RUN_KEYS, 'key of a run:', line)
      builder.beginConversation(line)
      builder.envelope({ system: readChat(builder, messages, line) }, line)
      line += messages.length
    }
    return builder.finish()
  },
}
