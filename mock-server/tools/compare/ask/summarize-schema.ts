import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { isJsonSchema } from "@workspace-tasks/mock-server/parts";
import { type Fact, wordOf } from "./rule.ts";

const depthMax = 4;
const isWord = (text: string) => wordOf(text) === text;

/**
 * A JSON Schema reduced to its properties and their types: `{ taskId: "string", errorMessage: "null|string?" }`; `?` marks
 * a property that is not required. Descriptions, examples and defaults are left out.
 */
export function summarizeSchema(schema: unknown): Fact {
  if (!isPlainObject(schema) || !isJsonSchema(schema)) return "not a schema";
  return summarizeProperties(schema, schema, 0);
}

type Json = Readonly<Record<string, unknown>>;

function summarizeProperties(given: Json, root: Json, depth: number): Fact {
  const { properties, required } = joinParts(given, root);
  const entries = Object.entries(properties)
    .filter(([name]) => isWord(name))
    .map(([name, property]): [string, Fact] => {
      const mark = required.includes(name) ? "" : "?";
      return [`${name}${mark}`, summarize(property, root, depth)];
    });
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The properties of a schema and of those that `allOf` adds to it. */
function joinParts(
  schema: Json,
  root: Json,
): { readonly properties: Json; readonly required: readonly unknown[] } {
  const parts = [schema, ...partsOf(schema, root)];
  const properties = parts.map((part) => (isPlainObject(part["properties"]) ? part["properties"] : {}));
  const required = parts.flatMap((part) => (Array.isArray(part["required"]) ? part["required"] : []));
  return { properties: Object.assign({}, ...properties), required };
}

const partsOf = (schema: Json, root: Json): readonly Json[] =>
  Array.isArray(schema["allOf"])
    ? schema["allOf"].flatMap((part: unknown): Json[] => [resolve(part, root) ?? {}])
    : [];

const hasProperties = (schema: Json, root: Json) =>
  [schema, ...partsOf(schema, root)].some((part) => isPlainObject(part["properties"]));

function summarize(given: unknown, root: Json, depth: number): Fact {
  const schema = resolve(given, root);
  if (!schema) return "any";
  const nested = alternatives(schema, root).find((each) => hasProperties(each, root));
  if (nested && depth < depthMax) return summarizeProperties(nested, root, depth + 1);
  const types = new Set(alternatives(schema, root).flatMap(typesOf));
  return types.size === 0 ? "any" : [...types].toSorted().join("|");
}

/** The schema, and those that it may be instead. */
function alternatives(schema: Json, root: Json): readonly Json[] {
  const lists = [schema["anyOf"], schema["oneOf"]].filter(Array.isArray);
  if (lists.length === 0) return [schema];
  return lists.flat().flatMap((each: unknown): Json[] => {
    const found = resolve(each, root);
    return found ? [found] : [];
  });
}

function typesOf(schema: Json): readonly string[] {
  const { type } = schema;
  const types = Array.isArray(type) ? type : [type];
  const known = types.filter((each): each is string => typeof each === "string" && isWord(each));
  // As OpenAPI 3.0 says it.
  const orNull = schema["nullable"] === true ? ["null"] : [];
  if (known.length > 0) return [...known, ...orNull];
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : "const" in schema ? [schema["const"]] : [];
  return [...values.map(typeOf), ...orNull];
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function resolve(schema: unknown, root: Json): Json | null {
  if (!isPlainObject(schema)) return null;
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  const found = valueAt(root, ...reference.replace(/^#\//, "").split("/"));
  return isPlainObject(found) ? found : null;
}
