/**
 * Theme: the few styles there are. Without colour (`NO_COLOR`), what they say is said by glyphs and weight alone.
 *
 * Pure. Colours are the terminal's own sixteen, so that they suit its background.
 */
import type { EditorTheme, MarkdownTheme, SelectListTheme } from '@earendil-works/pi-tui'

type Style = (text: string) => string

export interface Theme {
  readonly bold: Style
  readonly dim: Style
  readonly italic: Style
  readonly inverse: Style
  /** What a person may act on, and their own words. */
  readonly accent: Style
  readonly good: Style
  readonly bad: Style
  readonly warning: Style
  /** Compactions. */
  readonly special: Style
  readonly markdown: MarkdownTheme
  readonly list: SelectListTheme
  readonly editor: EditorTheme
}

export function theme({ color }: { readonly color: boolean }): Theme {
  const bold = style(1, 22)
  const dim = style(2, 22)
  const italic = style(3, 23)
  const underline = style(4, 24)
  const inverse = style(7, 27)
  const strikethrough = style(9, 29)
  const hue = (code: number, instead: Style = same): Style => (color ? style(code, 39) : instead)
  const accent = hue(36, bold)
  const good = hue(32)
  const bad = hue(31, bold)
  const warning = hue(33)
  const special = hue(35)
  const list: SelectListTheme = { selectedPrefix: accent, selectedText: accent, description: dim, scrollInfo: dim, noMatch: dim }
  return {
    bold, dim, italic, inverse, accent, good, bad, warning, special, list,
    markdown: {
      heading: hue(36), link: underline, linkUrl: dim, code: hue(33), codeBlock: same, codeBlockBorder: dim, quote: italic,
      quoteBorder: dim, hr: dim, listBullet: hue(36), bold, italic, strikethrough, underline,
    },
    editor: { borderColor: dim, selectList: list },
  }
}

function style(open: number, close: number): Style {
  return text => (text === '' ? '' : `\u001b[${open}m${text}\u001b[${close}m`)
}

function same(text: string): string {
  return text
}
