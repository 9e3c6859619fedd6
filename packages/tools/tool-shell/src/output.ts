/**
 * Output: what a command wrote, made readable as it comes, bounded in memory, kept whole in a file where it is long.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import { closeSync, openSync, writeSync } from 'node:fs'
import { BoundedText, type Bounded, type BoundedLimits } from './bounded.ts'
import { PlainText } from './plain.ts'

export interface OutputOptions extends BoundedLimits {
  /** Where a long output goes; asked for at most once. */
  readonly newFile: () => string
  /** The file takes no more than this. */
  readonly maxFileBytes: number
  /** Hears the text as it becomes readable, by lines. */
  readonly onText: (text: string) => void
}

export interface OutputSummary extends Bounded {
  readonly chars: number
  readonly lines: number
  /** Bytes that are no text, from the first of them on. */
  readonly binaryBytes: number
  /** Where all of it is, if it is longer than what is shown; `missing` says why the file does not hold all of it. */
  readonly file: { readonly path: string; readonly bytes: number; readonly missing?: string } | null
}

export class Output {
  private readonly options: OutputOptions
  private readonly decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  private readonly plain = new PlainText()
  private readonly shown: BoundedText
  private binaryBytes = 0
  private file: OutputFile | null = null

  constructor(options: OutputOptions) {
    this.options = options
    this.shown = new BoundedText(options)
  }

  /** No text holds a zero byte: what comes from the first one on is counted only. */
  push(bytes: Uint8Array): void {
    const zero = this.binaryBytes > 0 ? 0 : bytes.indexOf(0)
    const text = zero < 0 ? bytes : bytes.subarray(0, zero)
    this.binaryBytes += bytes.length - text.length
    this.take(this.plain.push(this.decoder.decode(text, { stream: true })))
  }

  /** To be called once; closes the file. */
  end(): OutputSummary {
    this.take(this.plain.push(this.decoder.decode()) + this.plain.end())
    const { chars, lines } = this.shown
    return { ...this.shown.parts(), chars, lines, binaryBytes: this.binaryBytes, file: this.file?.close() ?? null }
  }

  private take(text: string): void {
    if (text === '') return
    const before = this.shown.whole()
    this.shown.push(text)
    if (this.file === null && this.shown.whole() === null) {
      this.file = new OutputFile(this.options.newFile, this.options.maxFileBytes)
      this.file.write(before ?? '')
    }
    this.file?.write(text)
    this.options.onText(text)
  }
}

/** Written at once, so that what is in memory stays bounded; what goes wrong is told at the end. */
class OutputFile {
  private path = ''
  private bytes = 0
  private readonly maxBytes: number
  private descriptor: number | null = null
  private missing: string | null = null

  constructor(newFile: () => string, maxBytes: number) {
    this.maxBytes = maxBytes
    this.attempt(() => {
      this.path = newFile()
      this.descriptor = openSync(this.path, 'wx', 0o600)
    })
  }

  write(text: string): void {
    if (this.missing !== null) return
    this.attempt(() => {
      const bytes = Buffer.from(text)
      if (this.bytes + bytes.length > this.maxBytes) {
        this.missing = `it ends after ${this.bytes} bytes, which is as much as is kept`
        return
      }
      for (let written = 0; written < bytes.length; ) written += writeSync(this.descriptor!, bytes, written)
      this.bytes += bytes.length
    })
  }

  close(): OutputSummary['file'] {
    if (this.descriptor !== null) closeSync(this.descriptor)
    return { path: this.path, bytes: this.bytes, ...(this.missing === null ? {} : { missing: this.missing }) }
  }

  private attempt(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.missing = messageOf(error)
    }
  }
}
