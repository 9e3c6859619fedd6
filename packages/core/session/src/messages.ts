/**
 * Messages: what a model is sent, derived from the surface.
 *
 * Pure. One entry is one message, except that an assistant message without content derives none.
 */
import type { Message } from '@deepseek-ai/dsh-llm'
import { isSurfaceEvent, type SurfaceEvent } from './events.ts'
import type { Fold } from './fold.ts'

/** The frozen message of one entry; null for an assistant message without content. */
export function messageOfEvent(event: SurfaceEvent): Message | null {
  switch (event.type) {
    case 'user/message':
      return Object.freeze({ role: 'user', content: event.data.content })
    case 'assistant/message': {
      const { content, provider, model } = event.data
      return content.length === 0 ? null : Object.freeze({ role: 'assistant', content, provider, model })
    }
    case 'tool/result': {
      const { callId, content, isError } = event.data
      const block = Object.freeze({ type: 'tool-result', toolCallId: callId, content, ...(isError ? { isError } : {}) } as const)
      return Object.freeze({ role: 'tool', content: Object.freeze([block]) })
    }
  }
}

interface MessagesState {
  /** One place an entry, in surface order. */
  readonly slots: (Message | null)[]
  /** The slots that are messages; null after a replace, until somebody asks. */
  derived: Message[] | null
}

export const messagesFold: Fold<MessagesState> = {
  init: () => ({ slots: [], derived: [] }),
  apply(state, event, change) {
    if (change === null || !isSurfaceEvent(event)) return state
    const message = messageOfEvent(event)
    if (change.removed.length === 0) {
      state.slots.push(message)
      if (message !== null) state.derived?.push(message)
    } else {
      state.slots.splice(change.at, change.removed.length, message)
      state.derived = null
    }
    return state
  },
}

export function derivedMessages(state: MessagesState): readonly Message[] {
  return (state.derived ??= state.slots.filter(message => message !== null))
}
