/**
 * Arguments: what a model wrote, judged against what the tool asked for.
 *
 * Pure.
 */
import { messageOf } from '@deepseek-ai/dsh-llm'
import * as z from 'zod'
import type { JsonSchema, ToolParameters } from './tool.ts'

export interface ArgumentReader {
  /** As sent to a model. */
  readonly schema: JsonSchema
  read(text: string): ReadArguments
}

/** The arguments, or a sentence for the model about what is wrong with them. */
export type ReadArguments = { readonly value: unknown } | { readonly fault: string }

/**
 * @throws Error for a zod schema that no JSON Schema can express. A JSON Schema that zod cannot read is sent as it is and
 * checks only that the arguments are an object.
 */
export function argumentReader(parameters: ToolParameters): ArgumentReader {
  const [schema, type] = isZod(parameters) ? [jsonSchemaOf(parameters), parameters] : [parameters, zodOf(parameters)]
  return {
    schema,
    read(text) {
      let written: unknown
      try {
        // A model that calls a tool without arguments may write nothing at all.
        written = text.trim() === '' ? {} : JSON.parse(text)
      } catch (error) {
        return { fault: `The arguments are not valid JSON: ${messageOf(error)}` }
      }
      const parsed = type.safeParse(written)
      return parsed.success ? { value: parsed.data } : { fault: `The arguments do not fit the schema:\n${z.prettifyError(parsed.error)}` }
    },
  }
}

function isZod(parameters: ToolParameters): parameters is z.ZodType {
  return '_zod' in parameters
}

function jsonSchemaOf(type: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io: 'input' })
  return schema
}

function zodOf(schema: JsonSchema): z.ZodType {
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
  } catch {
    return z.looseObject({})
  }
}
