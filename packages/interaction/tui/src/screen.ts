/**
 * Screen: the layout, and which key does what.
 *
 *     transcript          scrolls; the rest of the screen
 *     what goes on        one line, with the keys that matter now
 *     what waits          what was said and has not entered yet
 *     editor              or the panel that asks something
 *     status              one line
 *
 * Always exactly as many lines as the terminal has, so a frame costs what is seen.
 */
import { CombinedAutocompleteProvider, Editor, matchesKey, TUI, type Component, type SlashCommand, type Terminal } from '@earendil-works/pi-tui'
import type { Panel } from './panels.ts'
import { activityLine, statusLine, waitingLines, type Activity, type Status } from './status.ts'
import { fit, pad, plain } from './text.ts'
import type { Theme } from './theme.ts'
import type { Surroundings, Timeline } from './timeline.ts'
import { Viewport, type Lines, type VisibleLine } from './viewport.ts'

/** Who is behind the screen. */
export interface ScreenHost {
  timeline(): Timeline
  status(): Status
  doing(): Activity['doing']
  waiting(): Parameters<typeof waitingLines>[0]
  isWorking(): boolean
  /** Whether a step runs that words could join. */
  isInTurn(): boolean
  commands(): SlashCommand[]
  /** Where file names are completed from. */
  cwd(): string
  estimateMessage: Surroundings['estimateMessage']
  /** What a person said: for now, or for after the turn. Empty words let go on what waits. */
  submit(words: string, when: 'now' | 'later'): void
  /** Stops what goes on. */
  cancel(): void
  /** Takes the newest words that wait back to the editor; null where none do. */
  takeBack(): string | null
  quit(): void
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const SPINNER_MS = 100
/** Between frames while nothing happens, for what a status line says of the past. */
const IDLE_MS = 30_000
/** How long a first Ctrl+C is remembered. */
const QUIT_MS = 2_000
const WHEEL_LINES = 3
/** Lines that the transcript keeps, whatever stands below it. */
const MIN_TRANSCRIPT_ROWS = 3

/** Screens with so many rows can do without one. */
const AIRY_ROWS = 20

/** A mouse report: button, column, row, press or release. */
// oxlint-disable-next-line no-control-regex
const MOUSE = /^\u001b\[<(\d+);(\d+);(\d+)([Mm])$/

export class Screen implements Component {
  readonly editor: Editor
  private readonly tui: TUI
  private readonly host: ScreenHost
  private readonly theme: Theme
  private readonly viewport = new Viewport()
  /** The last one is shown. */
  private readonly panels: Panel[] = []
  /** The chosen block while a person looks back. */
  private chosen: number | null = null
  private shown: readonly VisibleLine[] = []
  private spinnerTimer: NodeJS.Timeout | null = null
  private idleTimer: NodeJS.Timeout | null = null
  private quitArmedAt = -Infinity
  private rows = 1
  private isOpen = false

  constructor(terminal: Terminal, theme: Theme, host: ScreenHost) {
    this.host = host
    this.theme = theme
    this.tui = new TUI(terminal)
    this.editor = new Editor(this.tui, theme.editor, { paddingX: 1 })
    this.editor.onSubmit = words => this.submit(words, 'now')
    this.editor.setAutocompleteProvider({
      getSuggestions: (...asked) => this.completions().getSuggestions(...asked),
      applyCompletion: (...chosen) => this.completions().applyCompletion(...chosen),
    })
    this.tui.addChild(this)
    this.tui.setFocus(this.editor)
    this.tui.addInputListener(data => (this.handleKey(data) ? { consume: true } : undefined))
  }

  start(): void {
    this.isOpen = true
    this.tui.start()
    this.idleTimer = setInterval(() => this.tui.requestRender(), IDLE_MS)
    this.changed()
  }

  stop(): void {
    this.isOpen = false
    if (this.spinnerTimer !== null) clearInterval(this.spinnerTimer)
    if (this.idleTimer !== null) clearInterval(this.idleTimer)
    this.tui.stop()
  }

  /** Something is to be seen that was not. */
  changed(): void {
    if (!this.isOpen) return
    const isWorking = this.host.doing() !== null
    if (isWorking && this.spinnerTimer === null) this.spinnerTimer = setInterval(() => this.tui.requestRender(), SPINNER_MS)
    if (!isWorking && this.spinnerTimer !== null) {
      clearInterval(this.spinnerTimer)
      this.spinnerTimer = null
    }
    this.tui.requestRender()
  }

  /** Another conversation is shown. */
  turnedTo(): void {
    this.viewport.follow()
    this.chosen = null
    this.changed()
  }

  /** A panel waits for the person. */
  get isAsking(): boolean {
    return this.panel !== undefined
  }

  /** Over whatever is asked already. */
  show(panel: Panel): void {
    this.panels.push(panel)
    this.chosen = null
    this.tui.setFocus(panel)
    this.changed()
  }

  /** Takes a panel away, if it is still there. */
  hide(panel: Panel): void {
    const index = this.panels.indexOf(panel)
    if (index < 0) return
    this.panels.splice(index, 1)
    this.tui.setFocus(this.panel ?? this.editor)
    this.changed()
  }

  private get panel(): Panel | undefined {
    return this.panels.at(-1)
  }

  invalidate(): void {
    this.editor.invalidate()
  }

  render(width: number): string[] {
    const { theme, host } = this
    const rows = Math.max(1, this.tui.terminal.rows)
    this.rows = rows
    const now = Date.now()
    const spinner = SPINNER[Math.floor(now / SPINNER_MS) % SPINNER.length]!
    const activity = activityLine({ doing: host.doing(), keys: this.keys() }, spinner, width, theme)
    const waiting = waitingLines(host.waiting(), width, theme)
    const room = rows - MIN_TRANSCRIPT_ROWS - 2 - waiting.length
    const input = this.panel === undefined ? this.editor.render(width) : this.panel.draw(width, room)
    const air = rows >= AIRY_ROWS ? [''] : []
    const footer = [...air, activity, ...waiting, ...input, statusLine(host.status(), width, theme)].slice(-rows)
    const transcript = this.transcript({ theme, width, now, spinner, estimateMessage: host.estimateMessage }, rows - footer.length)
    return [...transcript, ...footer].map(line => fit(line, width))
  }

  private transcript(by: Surroundings, height: number): string[] {
    const lines = this.host.timeline().lines(by)
    this.shown = this.viewport.visible(lines, Math.max(0, height))
    const texts = this.shown.map(line => (line.index === this.chosen && isTitle(lines, line) ? by.theme.inverse(pad(plain(line.text), by.width)) : line.text))
    return [...texts, ...Array<string>(Math.max(0, height - texts.length)).fill('')]
  }

  private keys(): Activity['keys'] {
    if (Date.now() - this.quitArmedAt < QUIT_MS) return [['Ctrl+C', 'again to quit']]
    if (this.panel !== undefined) return []
    if (this.chosen !== null) return [['↑↓', 'choose'], ['Enter', 'open or fold'], ['Esc', 'back']]
    if (!this.viewport.follows) return [['Esc', 'to the end'], ['PgUp PgDn', 'scroll'], ['Ctrl+O', 'open']]
    const back = this.host.waiting().length > 0 ? ([['Alt+↑', 'take back']] as const) : []
    if (this.host.isInTurn()) return [['Esc', 'stop'], ['Enter', 'next step'], ['Alt+Enter', 'next turn'], ...back]
    if (this.host.isWorking()) return [['Esc', 'stop'], ['Enter', 'next turn'], ...back]
    if (back.length > 0) return [['Enter', 'go on'], ...back]
    return [['/', 'commands'], ['Ctrl+O', 'look back'], ['Ctrl+J', 'new line'], ['Ctrl+D', 'quit']]
  }

  /** Whether the key was meant for the screen, and not for the editor or the panel. */
  private handleKey(data: string): boolean {
    if (this.handleMouse(data)) return true
    if (this.handleScroll(data)) return true
    if (this.panel !== undefined) return false
    if (this.chosen !== null && this.handleChoice(data)) return true
    const isEmpty = this.editor.getText() === ''
    if (matchesKey(data, 'ctrl+c')) this.clearOrQuit(isEmpty)
    else if (matchesKey(data, 'ctrl+d') && isEmpty) this.host.quit()
    else if (matchesKey(data, 'escape') && !this.editor.isShowingAutocomplete()) this.escape()
    else if (matchesKey(data, 'ctrl+o')) this.lookBack()
    else if (matchesKey(data, 'ctrl+t')) this.host.timeline().toggleReasoning()
    else if (matchesKey(data, 'alt+enter')) this.submitLater()
    else if (matchesKey(data, 'alt+up')) this.takeBack()
    else return false
    this.changed()
    return true
  }

  private handleMouse(data: string): boolean {
    const [, button, , row, kind] = MOUSE.exec(data) ?? []
    if (button === undefined) return false
    if (button === '64' || button === '65') this.scroll(button === '64' ? -WHEEL_LINES : WHEEL_LINES)
    else if (button === '0' && kind === 'M') {
      const line = this.shown[Number(row) - 1]
      // The title opens and folds; what it opened to is there to be read.
      if (line !== undefined && isTitle(this.lines(), line)) this.host.timeline().toggle(line.index)
      this.changed()
    }
    return true
  }

  private handleScroll(data: string): boolean {
    if (this.panel !== undefined) return false
    if (matchesKey(data, 'pageUp')) this.scroll(-this.pageRows())
    else if (matchesKey(data, 'pageDown')) this.scroll(this.pageRows())
    else return false
    return true
  }

  private handleChoice(data: string): boolean {
    const timeline = this.host.timeline()
    const chosen = this.chosen!
    const move = (by: 1 | -1): void => {
      this.chosen = timeline.foldable(chosen + by, by) ?? chosen
      this.viewport.reveal(this.lines(), this.chosen)
    }
    if (matchesKey(data, 'up') || matchesKey(data, 'k')) move(-1)
    else if (matchesKey(data, 'down') || matchesKey(data, 'j')) move(1)
    else if (matchesKey(data, 'enter') || matchesKey(data, 'space')) {
      timeline.toggle(chosen)
      this.viewport.reveal(this.lines(), chosen)
    } else {
      this.chosen = null
      if (!matchesKey(data, 'escape') && !matchesKey(data, 'ctrl+o')) return false
    }
    this.changed()
    return true
  }

  /** From the newest block on the screen that opens; else the newest above it. */
  private lookBack(): void {
    const timeline = this.host.timeline()
    const from = this.shown.at(-1)?.index
    this.chosen = from === undefined ? null : timeline.foldable(from, -1)
    if (this.chosen !== null) this.viewport.reveal(this.lines(), this.chosen)
  }

  private escape(): void {
    if (!this.viewport.follows) this.viewport.follow()
    else this.host.cancel()
  }

  private clearOrQuit(isEmpty: boolean): void {
    if (!isEmpty) this.editor.setText('')
    else if (Date.now() - this.quitArmedAt < QUIT_MS) this.host.quit()
    else {
      this.quitArmedAt = Date.now()
      setTimeout(() => this.tui.requestRender(), QUIT_MS).unref()
    }
  }

  private submit(words: string, when: 'now' | 'later'): void {
    if (words !== '') this.editor.addToHistory(words)
    this.viewport.follow()
    this.host.submit(words, when)
  }

  private submitLater(): void {
    const words = this.editor.getExpandedText().trim()
    this.editor.setText('')
    this.submit(words, 'later')
  }

  private takeBack(): void {
    const words = this.host.takeBack()
    if (words === null) return
    const written = this.editor.getExpandedText()
    this.editor.setText(written.trim() === '' ? words : `${words}\n\n${written}`)
  }

  private scroll(lines: number): void {
    this.viewport.scroll(this.lines(), lines)
    this.changed()
  }

  private pageRows(): number {
    return Math.max(1, this.rows - 8)
  }

  private lines(): Lines {
    const { theme, host, tui } = this
    return host.timeline().lines({ theme, width: tui.terminal.columns, now: Date.now(), spinner: SPINNER[0]!, estimateMessage: host.estimateMessage })
  }

  private completions(): CombinedAutocompleteProvider {
    return new CombinedAutocompleteProvider(this.host.commands(), this.host.cwd())
  }
}

/** Whether it is the first line of its block, below the distance to the one before. */
function isTitle(lines: Lines, { index, line }: VisibleLine): boolean {
  return lines.at(index).findIndex(text => text !== '') === line
}
