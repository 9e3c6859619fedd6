/**
 * Images: blocks from base64 data, with the size that the file's own header states.
 *
 * Pure. Formats: PNG (ISO/IEC 15948, IHDR) and JPEG (ITU T.81, the SOFn marker); others keep no size.
 */
import type { ImageBlock } from '@deepseek-ai/dsh-llm'

/** A frame header stands behind the metadata of a camera or an editor, which rarely exceeds this. */
const HEADER_BYTES = 1 << 18

export function imageBlock(mediaType: string, data: string): ImageBlock {
  const size = imageSize(data)
  return { type: 'image', mediaType, data, ...size }
}

/** An image named by a URL: the data itself for a `data:` URL, otherwise a reference whose media type is a guess. */
export function imageFromUrl(url: string): ImageBlock {
  const [, mediaType, data] = /^data:([^;,]+)[^,]*;base64,(.*)$/s.exec(url) ?? []
  if (mediaType !== undefined && data !== undefined) return imageBlock(mediaType, data)
  return { type: 'image', mediaType: 'image/*', ref: url }
}

/** Pixels, or undefined where the header is of another kind or damaged. */
export function imageSize(base64: string): { width: number; height: number } | undefined {
  const bytes = Buffer.from(base64.slice(0, (HEADER_BYTES / 3) * 4), 'base64')
  const size = pngSize(bytes) ?? jpegSize(bytes)
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined
}

function pngSize(bytes: Buffer) {
  if (bytes.length < 24 || bytes.readUInt32BE(0) !== 0x89504e47 || bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function jpegSize(bytes: Buffer) {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined
  let at = 2
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1]!
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}
