/**
 * Image: which kinds a model can look at, told by their first bytes, and how large they are.
 *
 * Pure.
 */

export interface ImageKind {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
  /** Pixels, where the header says it in a way that is read here. */
  readonly size?: { readonly width: number; readonly height: number }
}

/** Null for everything else. */
export function imageKind(bytes: Buffer): ImageKind | null {
  const starts = (text: string, at = 0): boolean => bytes.toString('latin1', at, at + text.length) === text
  if (starts('\x89PNG\r\n\x1a\n')) return withSize('image/png', bytes.length >= 24 ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)] : null)
  if (starts('GIF87a') || starts('GIF89a')) return withSize('image/gif', bytes.length >= 10 ? [bytes.readUInt16LE(6), bytes.readUInt16LE(8)] : null)
  if (starts('\xff\xd8\xff')) return withSize('image/jpeg', jpegSize(bytes))
  if (starts('RIFF') && starts('WEBP', 8)) return withSize('image/webp', webpSize(bytes))
  return null
}

function withSize(mediaType: ImageKind['mediaType'], size: readonly [number, number] | null): ImageKind {
  return size === null || size[0] === 0 || size[1] === 0 ? { mediaType } : { mediaType, size: { width: size[0], height: size[1] } }
}

/** From the first frame header (SOF0 to SOF15, less the three that are none). */
function jpegSize(bytes: Buffer): readonly [number, number] | null {
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1]!
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)]
  }
  return null
}

function webpSize(bytes: Buffer): readonly [number, number] | null {
  if (bytes.length < 30) return null
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1]
    case 'VP8 ':
      return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff]
    case 'VP8L':
      return [(bytes.readUInt32LE(21) & 0x3fff) + 1, ((bytes.readUInt32LE(21) >>> 14) & 0x3fff) + 1]
    default:
      return null
  }
}
