/** Writes conversations into sessions of ours, event for event as the loop does. */
import type { ToolCallBlock } from '@deepseek-ai/dsh-llm'
import { completeInterruptedTurn, lastTurn, latestHeader, pendingCalls, Session } from '@deepseek-ai/dsh-session'
import { MODEL, PROVIDER } from './stage.ts'
import type { Entry } from './workload.ts'

export function emptySession(): Session {
  return new Session({ header: { id: 'bench', createdAt: 0 } })
}

/** A turn begins with each message of the person, a step with each of the assistant. */
export class Scribe {
  readonly session: Session
  private turn: number
  private step = 0
  private turnOpen = false
  private stepOpen = false

  constructor(session: Session) {
    this.session = session
    this.turn = lastTurn(session)
  }

  write(entry: Entry): void {
    const { session } = this
    if (entry.role === 'user') {
      this.endTurn()
      this.turn += 1
      this.step = 0
      this.turnOpen = true
      session.append('turn/start', { turn: this.turn })
      session.append('user/message', { content: [{ type: 'text', text: entry.text }], source: { kind: 'user' } }, { surfaceOp: 'append' })
      return
    }
    const config = { provider: PROVIDER, model: MODEL }
    if (entry.role === 'assistant') {
      this.endStep()
      this.step += 1
      this.stepOpen = true
      session.append('step/start', this.where)
      if (latestHeader(session) === null) session.append('request/header', { config, reason: 'initial' })
      const calls: ToolCallBlock[] = entry.calls.map(call => ({ type: 'tool-call', ...call }))
      const content = entry.text === '' ? calls : [{ type: 'text' as const, text: entry.text }, ...calls]
      session.append('assistant/message', { ...this.where, content, ...config, finish: calls.length > 0 ? 'tool-calls' : 'stop' }, { surfaceOp: 'append' })
      return
    }
    session.append('tool/call', { ...this.where, callId: entry.callId })
    session.append('tool/result', { ...this.where, callId: entry.callId, content: [{ type: 'text', text: entry.text }] }, { surfaceOp: 'append' })
  }

  /** A turn that was cut off inside a step is completed as whoever takes over its log completes it. */
  endTurn(): void {
    if (!this.turnOpen) return
    this.turnOpen = false
    if (pendingCalls(this.session).length > 0) {
      this.stepOpen = false
      completeInterruptedTurn(this.session)
      return
    }
    this.endStep()
    this.session.append('turn/end', { turn: this.turn, reason: 'completed' })
  }

  private endStep(): void {
    if (this.stepOpen) this.session.append('step/end', this.where)
    this.stepOpen = false
  }

  private get where(): { readonly turn: number; readonly step: number } {
    return { turn: this.turn, step: this.step }
  }
}
