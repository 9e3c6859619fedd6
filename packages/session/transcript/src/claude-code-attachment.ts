/**
 * Attachments of a Claude Code log: what the tool showed the model beside the conversation (files, memory, hooks, listings).
 *
 * Pure. They grow new types with every version, so that the text is sought by the shapes that carry it, not by type.
 */
import { arrayAt, isObject, objectAt, stringAt, type JsonObject } from './json.ts'

/** Empty where the attachment carries no text. */
export function attachmentText(attachment: JsonObject): string {
  const name = stringAt(attachment, 'displayPath') ?? stringAt(attachment, 'filename') ?? stringAt(attachment, 'hookName')
  const text = carriedText(attachment)
  if (text === '') return attachment.type === 'compact_file_reference' && name !== undefined ? `File read earlier: ${name}` : ''
  return name === undefined ? text : `${name}\n${text}`
}

function carriedText(attachment: JsonObject): string {
  const { content } = attachment
  const file = isObject(content) ? objectAt(content, 'file') : undefined
  const texts = [
    typeof content === 'string' ? content : '',
    ...arrayAt(attachment, 'content').filter(part => typeof part === 'string'),
    isObject(content) ? (stringAt(content, 'content') ?? '') : '',
    (file && stringAt(file, 'content')) ?? '',
    stringAt(attachment, 'snippet') ?? '',
    ...arrayAt(attachment, 'addedBlocks').filter(part => typeof part === 'string'),
    ...arrayAt(attachment, 'addedLines').filter(part => typeof part === 'string'),
  ]
  return texts.filter(text => text.trim() !== '').join('\n')
}
