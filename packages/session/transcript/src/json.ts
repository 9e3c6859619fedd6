/**
 * JSON from files that nobody validated: read what is there, never throw.
 *
 * Pure. A getter answers `undefined` where the key is missing or holds another type, so that an importer decides once what
 * a missing value means.
 */

export type JsonObject = { readonly [key: string]: unknown }

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function stringAt(object: JsonObject, key: string): string | undefined {
  const value = object[key]
  return typeof value === 'string' ? value : undefined
}

export function numberAt(object: JsonObject, key: string): number | undefined {
  const value = object[key]
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function objectAt(object: JsonObject, key: string): JsonObject | undefined {
  const value = object[key]
  return isObject(value) ? value : undefined
}

/** Undefined where the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Empty where the key holds no array. */
export function arrayAt(object: JsonObject, key: string): readonly unknown[] {
  const value = object[key]
  return Array.isArray(value) ? value : []
}
