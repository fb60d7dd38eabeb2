import { z } from "zod";
import { checkSchema } from "../../checks/check-schema.ts";

const schema: z.ZodType = z.lazy(() =>
  // `true` and `false` are schemas without keywords.
  z.preprocess((value) => (typeof value === "boolean" ? {} : value), keywords),
);
const named = z.record(z.string(), schema).optional();
const several = z.array(schema).min(1).optional();
const one = schema.optional();
const size = z.int().nonnegative().optional();
const limit = z.number().optional();
const text = z.string().optional();
const type = z.enum(["array", "boolean", "integer", "null", "number", "object", "string"]);

const keywords = z.looseObject({
  ...{ $schema: text, $id: text, $ref: text, title: text, description: text, format: text },
  type: z.union([type, z.array(type).min(1)]).optional(),
  enum: z.array(z.unknown()).optional(),
  ...{ properties: named, patternProperties: named, definitions: named },
  ...{ additionalProperties: one, propertyNames: one, contains: one, additionalItems: one },
  ...{ not: one, if: one, allOf: several, anyOf: several, oneOf: several },
  items: z.union([z.array(schema), schema]).optional(),
  required: z.array(z.string()).optional(),
  ...{
    minLength: size,
    maxLength: size,
    minItems: size,
    maxItems: size,
    minProperties: size,
    maxProperties: size,
  },
  ...{ minimum: limit, maximum: limit, exclusiveMinimum: limit, exclusiveMaximum: limit },
  multipleOf: z.number().positive().optional(),
  pattern: z.string().refine(isPattern, "expected a regular expression").optional(),
  uniqueItems: z.boolean().optional(),
});

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern) !== null;
  } catch {
    return false;
  }
}

/** The JSON Schema (Draft 7) of a payload: keywords that it knows have values that it permits. */
export const payloadSchema = z.record(z.string(), z.unknown()).superRefine((value, context) => {
  for (const { path, message } of checkSchema(schema, value).issues ?? [])
    context.addIssue({ code: "custom", path: path.split("."), message });
});
