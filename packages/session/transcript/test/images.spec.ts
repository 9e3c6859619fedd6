import { expect, it } from 'vitest'
import { imageFromUrl, imageSize } from '../src/images.ts'

const base64 = (...bytes: (number | readonly number[])[]) => Buffer.from(bytes.flat()).toString('base64')
const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const IHDR = [0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 2, 0, 0, 0, 1, 0x40]
const APP0 = [0xff, 0xe0, 0, 4, 1, 2]
const FRAME = [0xff, 0xc2, 0, 11, 8, 0x01, 0x40, 0x02, 0x00, 3]

it.each([
  ['the IHDR of a PNG', base64(SIGNATURE, IHDR), { width: 512, height: 320 }],
  ['the frame header of a JPEG behind other segments', base64([0xff, 0xd8], APP0, APP0, FRAME), { width: 512, height: 320 }],
  ['fill bytes between segments of a JPEG', base64([0xff, 0xd8, 0xff], APP0, FRAME), { width: 512, height: 320 }],
  ['a PNG cut off in its header', base64(SIGNATURE, IHDR.slice(0, 10)), undefined],
  ['a PNG without extent', base64(SIGNATURE, IHDR.slice(0, 8), [0, 0, 0, 0, 0, 0, 0, 0]), undefined],
  ['a JPEG without a frame', base64([0xff, 0xd8], APP0), undefined],
  ['a JPEG with a segment of no length', base64([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0xff, 0xd9, 0, 0, 0, 0]), undefined],
  ['another kind of file', base64([0x47, 0x49, 0x46, 0x38]), undefined],
  ['nothing', '', undefined],
])('reads %s', (_name, data, size) => {
  expect(imageSize(data)).toEqual(size)
})

it('takes the data of a data URL and keeps any other URL as a reference', () => {
  const data = base64(SIGNATURE, IHDR)
  expect(imageFromUrl(`data:image/png;base64,${data}`)).toEqual({ type: 'image', mediaType: 'image/png', data, width: 512, height: 320 })
  expect(imageFromUrl('https://example.com/a.png')).toEqual({ type: 'image', mediaType: 'image/*', ref: 'https://example.com/a.png' })
})
