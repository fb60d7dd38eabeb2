import * as z from "zod";
import { checkSchema } from "../../checks.ts";

const schema: z.ZodType = z.lazy(() =>
  // `true` and `false` are schemas without keywords.
  z.preprocess((value) => (typeof value === "boolean" ? {} : value), keywords),
);
const type = z.enum(["array", "boolean", "integer", "null", "number", "object", "string"]);

/** Keywords whose values have the same schema. */
const each = (names: string, value: z.ZodType) =>
  Object.fromEntries(names.split(" ").map((name) => [name, value.optional()]));

const keywords = z.looseObject({
  ...each("$schema $id $ref title description format", z.string()),
  ...each("type", z.union([type, z.array(type).min(1)])),
  ...each("properties patternProperties definitions", z.record(z.string(), schema)),
  ...each("additionalProperties additionalItems propertyNames contains not if then else", schema),
  ...each("items", z.union([z.array(schema), schema])),
  ...each("allOf anyOf oneOf", z.array(schema).min(1)),
  ...each("enum", z.array(z.unknown())),
  ...each("required", z.array(z.string())),
  ...each("minLength maxLength minItems maxItems minProperties maxProperties", z.int().nonnegative()),
  ...each("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf", z.number()),
  ...each("pattern", z.string().refine(isPattern, "expected a regular expression")),
});

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern) !== null;
  } catch {
    return false;
  }
}

export const isJsonSchema = (value: unknown): boolean => schema.safeParse(value).success;

/** The JSON Schema (Draft 7) of a payload: keywords that it knows have values that it permits. */
export const payloadSchema = z.record(z.string(), z.unknown()).superRefine((value, context) => {
  for (const { path, message } of checkSchema(schema, value).issues ?? [])
    context.addIssue({ code: "custom", path: path.split("."), message });
});
