/**
 * The system prompt: sections that plugins register, joined in their order. `ctx.systemPrompt`.
 */
import { Service, type Context } from '@deepseek-ai/cordis'
import type { Session } from '@deepseek-ai/dsh-session'

declare module '@deepseek-ai/cordis' {
  interface Context {
    systemPrompt: SystemPromptService
  }
}

export interface PromptSection {
  /** Unique; how people and error messages call it. */
  readonly name: string
  /** Smaller comes first, 0 by default; equal ones stand as they were registered. */
  readonly order?: number
  /**
   * The text, or a function that is asked for the session's before each of its steps. A text that keeps changing costs the
   * provider's prefix cache each time; an empty one leaves the section out.
   */
  readonly text: string | ((session: Session) => string)
}

export class SystemPromptService extends Service {
  private readonly sections: PromptSection[] = []

  constructor(ctx: Context) {
    super(ctx, 'systemPrompt')
  }

  /**
   * Belongs to the calling context and goes with it.
   *
   * @throws Error when a section of that name is there already.
   */
  registerSection(section: PromptSection): () => void {
    const { sections } = this
    return this.ctx.effect(() => {
      if (sections.some(({ name }) => name === section.name)) {
        throw new Error(`a system prompt section "${section.name}" is registered already`)
      }
      const place = sections.findIndex(other => orderOf(other) > orderOf(section))
      sections.splice(place < 0 ? sections.length : place, 0, section)
      return () => sections.splice(sections.indexOf(section), 1)
    }, `ctx.systemPrompt.registerSection(${JSON.stringify(section.name)})`)
  }

  /**
   * The prompt of a session: the sections that say something, a blank line between two; undefined when none does. Throws what a
   * section's function throws.
   */
  assemble(session: Session): string | undefined {
    const texts: string[] = []
    for (const { text } of this.sections) {
      const said = typeof text === 'string' ? text : text(session)
      if (said !== '') texts.push(said)
    }
    return texts.length === 0 ? undefined : texts.join('\n\n')
  }
}

function orderOf({ order = 0 }: PromptSection): number {
  return order
}
