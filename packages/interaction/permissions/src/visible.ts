/**
 * Visible: a text in which nothing hides, for a person who answers for all of it.
 *
 * Pure. Whoever draws a text leaves out what a terminal would act on, and with it what an escape sequence spans or a carriage
 * return goes back over; in a command, all of that is still run. So what would not be seen is spelled: `␛`, `␍`, `\u{202e}`.
 */

/** Controls, but for line ends and tabs; characters that have no width, or turn the direction of what is around them. */
// oxlint-disable-next-line no-control-regex
const HIDDEN = /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g
const PICTURES = 0x2400

export function visible(text: string): string {
  return text.replace(HIDDEN, hidden => {
    const code = hidden.codePointAt(0)!
    return code < 0x20 ? String.fromCodePoint(PICTURES + code) : `\\u{${code.toString(16)}}`
  })
}
