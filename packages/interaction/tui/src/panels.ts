/**
 * Panels: what takes the editor's place while a person is asked something.
 */
import { CURSOR_MARKER, Input, matchesKey, SelectList, type Component, type Focusable, type SelectItem } from '@earendil-works/pi-tui'
import type { PermissionRequest } from '@deepseek-ai/dsh-tools'
import { diffLines } from './draw-call.ts'
import { clean, ends, fit, hang, oneLine, wrap } from './text.ts'
import type { Theme } from './theme.ts'

/** Gets all keys while it is shown. */
export interface Panel extends Component {
  handleInput(data: string): void
  /** At most `rows` lines. */
  draw(width: number, rows: number): string[]
}

export type PermissionChoice = 'once' | 'always' | { readonly deny: string; readonly stop: boolean }

/** Asks whether a call may run. */
export class PermissionPanel implements Panel, Focusable {
  focused = false
  private readonly request: PermissionRequest
  private readonly theme: Theme
  private readonly choose: (choice: PermissionChoice) => void
  /** Why not, while it is being written. */
  private reason: Input | null = null
  private scrolled = 0
  private page = 1

  constructor(request: PermissionRequest, theme: Theme, choose: (choice: PermissionChoice) => void) {
    this.request = request
    this.theme = theme
    this.choose = choose
  }

  handleInput(data: string): void {
    if (matchesKey(data, 'ctrl+c') || (matchesKey(data, 'escape') && this.reason === null)) this.choose({ deny: '', stop: true })
    else if (matchesKey(data, 'escape')) this.reason = null
    else if (matchesKey(data, 'pageUp') || (matchesKey(data, 'up') && this.reason === null)) this.scrolled -= matchesKey(data, 'up') ? 1 : this.page
    else if (matchesKey(data, 'pageDown') || (matchesKey(data, 'down') && this.reason === null)) this.scrolled += matchesKey(data, 'down') ? 1 : this.page
    else if (this.reason !== null) this.reason.handleInput(data)
    else if (matchesKey(data, 'y')) this.choose('once')
    else if (matchesKey(data, 'a')) this.choose('always')
    else if (matchesKey(data, 'n')) {
      this.reason = new Input()
      this.reason.onSubmit = why => this.choose({ deny: why.trim(), stop: false })
    }
  }

  invalidate(): void {}

  render(width: number): string[] {
    return this.draw(width, Infinity)
  }

  draw(width: number, rows: number): string[] {
    const { theme, request } = this
    const title = wrap(clean(request.title).trim(), width - 2).slice(0, 4)
    const head = [theme.warning('─'.repeat(width)), ...hang(theme.warning('? '), title.map(theme.bold))]
    const foot = this.reason === null ? this.keys(width) : this.reasonLines(this.reason, width)
    const detail = request.detail === undefined ? [] : diffLines(request.detail, width - 4, theme)
    this.page = Math.max(1, Math.min(detail.length, rows - head.length - foot.length - 1))
    this.scrolled = Math.max(0, Math.min(this.scrolled, detail.length - this.page))
    const shown = detail.slice(this.scrolled, this.scrolled + this.page).map(line => fit(theme.dim('  │ ') + line, width))
    const where = detail.length > this.page ? [theme.dim(fit(`  ${this.scrolled + 1}–${this.scrolled + shown.length} of ${detail.length} lines · ↑↓ PgUp PgDn`, width))] : []
    return [...head, ...shown, ...where, ...foot].slice(0, Math.max(rows, head.length + foot.length))
  }

  private keys(width: number): string[] {
    const { theme, request } = this
    const key = (letter: string, does: string): string => `${theme.accent(letter)} ${does}`
    return [
      fit([key('y', 'yes, once'), key('n', 'no'), key('Esc', 'no, and stop')].join(theme.dim(' · ')), width),
      ...wrap(`${key('a', 'yes, and always in this session:')} ${oneLine(request.scope)}`, width),
    ]
  }

  private reasonLines(reason: Input, width: number): string[] {
    reason.focused = this.focused
    return [...reason.render(width).map(line => fit(line, width)), this.theme.dim(fit('Say why, or what to do instead, and press Enter; Esc goes back', width))]
  }
}

/** Columns for what is chosen from; the rest says more about it. */
const MAX_LABEL_COLUMNS = 64

/** Lets a person choose one of a list; what is typed narrows it. */
export class PickPanel implements Panel, Focusable {
  focused = false
  private readonly title: string
  private readonly items: readonly SelectItem[]
  private readonly theme: Theme
  private readonly choose: (value: string | null) => void
  private filter = ''
  private selected = 0

  constructor(title: string, items: readonly SelectItem[], theme: Theme, choose: (value: string | null) => void) {
    this.title = title
    this.items = items
    this.theme = theme
    this.choose = choose
  }

  handleInput(data: string): void {
    const { length } = this.matching()
    if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) this.choose(null)
    else if (matchesKey(data, 'enter')) this.confirm()
    else if (matchesKey(data, 'up')) this.selected = length === 0 ? 0 : (this.selected + length - 1) % length
    else if (matchesKey(data, 'down')) this.selected = length === 0 ? 0 : (this.selected + 1) % length
    else if (matchesKey(data, 'backspace')) this.narrow(this.filter.slice(0, -1))
    else if (!data.startsWith('\u001b') && data >= ' ') this.narrow(this.filter + oneLine(data))
  }

  invalidate(): void {}

  render(width: number): string[] {
    return this.draw(width, Infinity)
  }

  draw(width: number, rows: number): string[] {
    const { theme } = this
    const matching = this.matching()
    const list = new SelectList(matching, Math.max(1, Math.min(12, rows - 4)), theme.list, { maxPrimaryColumnWidth: Math.min(MAX_LABEL_COLUMNS, Math.floor(width / 2)) })
    list.setSelectedIndex(this.selected)
    const cursor = this.focused ? CURSOR_MARKER : ''
    const head = ends(`${theme.bold(this.title)} ${this.filter}${cursor}${theme.inverse(' ')}`, theme.dim('type to narrow · ↑↓ Enter · Esc'), width)
    const body = matching.length === 0 ? [theme.dim('  nothing matches')] : list.render(width)
    return [theme.accent('─'.repeat(width)), head, ...body.map(line => fit(line, width))]
  }

  private confirm(): void {
    const item = this.matching()[this.selected]
    if (item !== undefined) this.choose(item.value)
  }

  private narrow(filter: string): void {
    this.filter = filter
    this.selected = 0
  }

  private matching(): SelectItem[] {
    const wanted = this.filter.toLowerCase()
    return this.items.filter(({ label, value, description = '' }) => `${label} ${value} ${description}`.toLowerCase().includes(wanted))
  }
}
