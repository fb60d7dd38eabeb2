import { isPlainObject } from "../../plain-object.ts";
import type { Shape } from "./observation.ts";
import { isWord } from "./vocabulary.ts";

const depthMax = 4;

/**
 * A JSON Schema reduced to its properties and their types: `{ taskId: "string", errorMessage: "null|string?" }`; `?` marks
 * a property that is not required. Descriptions, examples and defaults are left out.
 */
export function summarizeSchema(schema: unknown): Shape {
  if (!isPlainObject(schema)) return "not a schema";
  return summarizeProperties(schema, schema, 0);
}

type Json = Readonly<Record<string, unknown>>;

function summarizeProperties(schema: Json, root: Json, depth: number): Shape {
  const properties = isPlainObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const entries = Object.entries(properties)
    .filter(([name]) => isWord(name))
    .map(([name, property]): [string, Shape] => {
      const mark = required.includes(name) ? "" : "?";
      return [`${name}${mark}`, summarize(property, root, depth)];
    });
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function summarize(given: unknown, root: Json, depth: number): Shape {
  const schema = resolve(given, root);
  if (!schema) return "any";
  const nested = alternatives(schema, root).find((each) => isPlainObject(each["properties"]));
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
  if (known.length > 0) return known;
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : "const" in schema ? [schema["const"]] : [];
  return values.map((value: unknown) => (value === null ? "null" : typeof value));
}

function resolve(schema: unknown, root: Json): Json | null {
  if (!isPlainObject(schema)) return null;
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  const found = reference
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((value, name) => (isPlainObject(value) ? value[name] : undefined), root);
  return isPlainObject(found) ? found : null;
}
