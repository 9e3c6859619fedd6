/**
 * Questions: a panel put to the person, and their answer.
 */
import type { PermissionEvent } from '@deepseek-ai/dsh-tools'
import type { SelectItem } from '@earendil-works/pi-tui'
import { PermissionPanel, PickPanel, type Panel, type PermissionChoice } from './panels.ts'
import type { Theme } from './theme.ts'

/** Where panels are shown. */
export interface Desk {
  show(panel: Panel): void
  hide(panel: Panel): void
}

export class Questions {
  private readonly desk: Desk
  private readonly theme: Theme
  /** Takes back what is asked still. */
  private readonly leaving = new AbortController()

  constructor(desk: Desk, theme: Theme) {
    this.desk = desk
    this.theme = theme
  }

  /** Which of these; null where the person chose nothing. */
  pick(title: string, items: readonly SelectItem[], signal: AbortSignal): Promise<string | null> {
    return this.ask<string | null>(signal, null, answer => new PickPanel(title, items, this.theme, answer))
  }

  /** Whether a call may run; denied without a word where nobody answers. */
  permission({ request, signal }: PermissionEvent): Promise<PermissionChoice> {
    return this.ask<PermissionChoice>(signal, { deny: '', stop: false }, answer => new PermissionPanel(request, this.theme, answer))
  }

  /** The person has left: what is asked goes without an answer, and so does what would be. */
  leave(): void {
    this.leaving.abort()
  }

  private ask<A>(signal: AbortSignal, unanswered: A, panelFor: (answer: (answer: A) => void) => Panel): Promise<A> {
    const gone = AbortSignal.any([signal, this.leaving.signal])
    if (gone.aborted) return Promise.resolve(unanswered)
    return new Promise(resolve => {
      const answer = (given: A): void => {
        gone.removeEventListener('abort', giveUp)
        this.desk.hide(panel)
        resolve(given)
      }
      const giveUp = (): void => answer(unanswered)
      const panel = panelFor(answer)
      gone.addEventListener('abort', giveUp)
      this.desk.show(panel)
    })
  }
}
