/**
 * Terminals: the person's own, on its second screen, so that what was on the first is there again afterwards.
 */
import { ProcessTerminal, type Terminal } from '@earendil-works/pi-tui'

/** Alternate screen, cleared. Lines that a terminal draws wider than they are must not wrap, or every line below is off. */
const ENTER = '\u001b[?1049h\u001b[2J\u001b[H\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?1049l\u001b[?25h'
/** Presses and the wheel, by their cell. */
const MOUSE_ON = '\u001b[?1000h\u001b[?1006h'
const MOUSE_OFF = '\u001b[?1006l\u001b[?1000l'
/** Clears the scrollback, which is the person's. */
const CLEAR_SCROLLBACK = '\u001b[3J'

/** The second is told before the trace of an error is printed, which should stay to be read. */
const ENDS = ['exit', 'uncaughtExceptionMonitor']

export class ScreenTerminal extends ProcessTerminal implements Terminal {
  private readonly mouse: boolean
  private entered = false
  /** However the process ends, it leaves the terminal as it found it. */
  private readonly onExit = (): void => this.stop()

  constructor({ mouse }: { readonly mouse: boolean }) {
    super()
    this.mouse = mouse
  }

  override start(onInput: (data: string) => void, onResize: () => void): void {
    process.stdout.write(ENTER + (this.mouse ? MOUSE_ON : ''))
    this.entered = true
    for (const end of ENDS) process.once(end, this.onExit)
    super.start(onInput, onResize)
  }

  override stop(): void {
    if (!this.entered) return
    this.entered = false
    for (const end of ENDS) process.off(end, this.onExit)
    super.stop()
    process.stdout.write((this.mouse ? MOUSE_OFF : '') + LEAVE)
  }

  override write(data: string): void {
    super.write(data.replaceAll(CLEAR_SCROLLBACK, ''))
  }
}
