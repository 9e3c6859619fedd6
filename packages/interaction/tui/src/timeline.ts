/**
 * Timeline: the blocks on the screen in order, and their lines, drawn once for as long as they stay the same.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import type { Session } from '@deepseek-ai/dsh-session'
import { blocksOf, type Block, type NoticeBlock } from './blocks.ts'
import type { Canvas } from './canvas.ts'
import { draw, gapBetween, isFoldable, isMoving } from './draw.ts'
import type { Live } from './live.ts'
import type { PieceCache } from './markdown.ts'
import { fit, oneLine } from './text.ts'
import type { Lines } from './viewport.ts'

interface Drawn {
  readonly version: number
  readonly width: number
  readonly open: boolean
  readonly lines: readonly string[]
}

/** Blocks whose lines are kept; about as many as somebody scrolls through. */
const MAX_DRAWN = 600

export type Surroundings = Pick<Canvas, 'theme' | 'width' | 'now' | 'spinner' | 'estimateMessage'>

export class Timeline {
  readonly session: Session
  readonly live: Live
  private readonly items: Block[] = []
  private taken = 0
  private streaming: Block[] = []
  private readonly opened = new Set<string>()
  private allReasoning = false
  private readonly drawn = new Map<Block, Drawn>()
  /** Of what streams. */
  private pieces = new WeakMap<Block, PieceCache>()
  private notices = 0
  private width = 0

  constructor(session: Session, live: Live) {
    this.session = session
    this.live = live
  }

  /** Tells something that no log has, after what is there now. Told twice in a row, with more words or fewer, it is told once. */
  notice(text: string, level: NoticeBlock['level']): void {
    this.take()
    const last = this.items.at(-1)
    if (last?.kind === 'notice' && last.text.endsWith(text)) this.items.pop()
    this.items.push({ kind: 'notice', key: `n${this.notices++}`, version: 0, level, text })
  }

  /** The lines of one frame; valid until anything changes. */
  lines(by: Surroundings): Lines {
    this.take()
    this.streaming = this.live.blocks()
    if (by.width !== this.width) this.pieces = new WeakMap()
    this.width = by.width
    const length = this.items.length + this.streaming.length
    return { length, at: index => this.linesAt(index, by) }
  }

  block(index: number): Block | undefined {
    return this.items[index] ?? this.streaming[index - this.items.length]
  }

  /** The next block that can be opened, from `from` on in the direction of `by`; null where there is none. */
  foldable(from: number, by: 1 | -1): number | null {
    for (let index = from; ; index += by) {
      const block = this.block(index)
      if (block === undefined) return null
      if (isFoldable(block)) return index
    }
  }

  toggle(index: number): void {
    const block = this.block(index)
    if (block === undefined || !isFoldable(block)) return
    const { key } = block
    if (this.opened.has(key)) this.opened.delete(key)
    else this.opened.add(key)
  }

  toggleReasoning(): void {
    this.allReasoning = !this.allReasoning
  }

  private isOpen(block: Block): boolean {
    return this.opened.has(block.key) !== (this.allReasoning && block.kind === 'reasoning')
  }

  private take(): void {
    const blocks = blocksOf(this.session)
    for (; this.taken < blocks.length; this.taken++) this.items.push(blocks[this.taken]!)
  }

  private linesAt(index: number, by: Surroundings): readonly string[] {
    const block = this.block(index)!
    const open = this.isOpen(block)
    const before = this.drawn.get(block)
    if (before !== undefined && before.version === block.version && before.width === by.width && before.open === open && !isMoving(block)) return before.lines
    const previous = index === 0 ? undefined : this.block(index - 1)
    const gap = previous === undefined ? 0 : gapBetween(previous, block)
    const lines = [...Array<string>(gap).fill(''), ...this.draw(block, open, by)]
    this.keep(block, { version: block.version, width: by.width, open, lines })
    return lines
  }

  private draw(block: Block, open: boolean, by: Surroundings): string[] {
    try {
      const { live, session: { log, header: { parent } } } = this
      const canvas: Canvas = { ...by, log, open, live, pieces: this.piecesOf(block), ...(parent === undefined ? {} : { forkSeq: parent.seq }) }
      return draw(block, canvas)
    } catch (error) {
      // A log that cannot be read back costs a block, not the screen.
      return [fit(by.theme.bad(`✗ this cannot be shown: ${oneLine(messageOf(error))}`), by.width)]
    }
  }

  private keep(block: Block, drawn: Drawn): void {
    this.drawn.delete(block)
    this.drawn.set(block, drawn)
    if (this.drawn.size > MAX_DRAWN) this.drawn.delete(this.drawn.keys().next().value!)
  }

  private piecesOf(block: Block): PieceCache | null {
    if (!this.streaming.includes(block)) return null
    const pieces = this.pieces.get(block) ?? new Map()
    this.pieces.set(block, pieces)
    return pieces
  }
}
