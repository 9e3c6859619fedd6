import type { SessionEvent, SessionHeader } from '@deepseek-ai/dsh-session'

export const header: SessionHeader = { id: 'one', createdAt: 1_700_000_000_000 }

export const event = (seq: number, text = `message ${seq}`): SessionEvent => ({
  seq,
  time: 1_700_000_000_000 + seq,
  type: 'user/message',
  data: { content: [{ type: 'text', text }], source: { kind: 'user' } },
  surfaceOp: 'append',
})

export const events = (count: number, from = 0): SessionEvent[] => Array.from({ length: count }, (_, index) => event(from + index))
