import { expect, it } from 'vitest'
import { imageKind } from '../src/image.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

it.each([
  ['PNG', '89504e470d0a1a0a 0000000d 49484452 00000280 000001e0 08', { mediaType: 'image/png', size: { width: 640, height: 480 } }],
  ['GIF', '474946383961 8002 e001 f7', { mediaType: 'image/gif', size: { width: 640, height: 480 } }],
  ['JPEG, after a comment and a table', 'ffd8 fffe 0004 6162 ffc4 0003 00 ffc0 0011 08 01e0 0280 03', { mediaType: 'image/jpeg', size: { width: 640, height: 480 } }],
  ['WebP, extended', '52494646 00000000 57454250 56503858 0a000000 10000000 7f0200 df0100', { mediaType: 'image/webp', size: { width: 640, height: 480 } }],
  ['WebP, lossy', '52494646 00000000 57454250 56503820 00000000 000000 9d012a 8002 e001', { mediaType: 'image/webp', size: { width: 640, height: 480 } }],
  ['WebP, lossless', '52494646 00000000 57454250 5650384c 00000000 2f 7fc27700 00000000 00', { mediaType: 'image/webp', size: { width: 640, height: 480 } }],
  ['PNG that was cut off', '89504e470d0a1a0a', { mediaType: 'image/png' }],
  ['JPEG that makes no sense', 'ffd8ff00', { mediaType: 'image/jpeg' }],
  ['something else', '25504446', null],
  ['nothing', '', null],
])('%s', (_title, bytes, kind) => {
  expect(imageKind(hex(bytes))).toEqual(kind)
})
