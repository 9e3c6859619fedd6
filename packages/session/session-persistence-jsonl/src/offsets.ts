/**
 * Offsets: where each event's line begins in its file, eight bytes an event.
 *
 * Pure.
 */
const PAGE_LENGTH = 8_192

/** A list of numbers that only grows; in pages, so that growing never copies it. */
export class Offsets {
  private readonly pages: Float64Array[] = []
  private count = 0

  get length(): number {
    return this.count
  }

  push(offsetBytes: number): void {
    const place = this.count % PAGE_LENGTH
    if (place === 0) this.pages.push(new Float64Array(PAGE_LENGTH))
    this.pages.at(-1)![place] = offsetBytes
    this.count += 1
  }

  /** @param index of a number that was pushed. */
  at(index: number): number {
    return this.pages[Math.floor(index / PAGE_LENGTH)]![index % PAGE_LENGTH]!
  }
}
