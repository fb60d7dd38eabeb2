// Data of an override, compared with the schema: a test that responds with what the service can never send proves
// nothing, unless it says so.

import {
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isAbstractType,
  isEnumType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type SelectionSetNode,
} from "graphql";
import { describeValue } from "../../sdk/kernel/describe-value.ts";
import { didYouMean } from "../../sdk/kernel/did-you-mean.ts";
import { isPlainObject } from "../../sdk/kernel/plain-object.ts";

/** Selected fields of a type by response key, directives and fragments followed. */
export type SelectFields = (
  type: GraphQLObjectType,
  selectionSets: readonly SelectionSetNode[],
) => Map<string, FieldNode[]>;

export interface ShapeOptions {
  readonly schema: GraphQLSchema;
  /** `null`: every field that the data has, as when no request is known yet. */
  readonly select: SelectFields | null;
  /** Whether the data has fields by their name in the schema, or by the response key, which may be an alias. */
  readonly by: "name" | "response-key";
}

export class ShapeError extends Error {
  constructor(path: string, message: string) {
    super(`${path}: ${message}`);
  }
}

/**
 * What a request for these fields gets of the data.
 * @throws ShapeError for a value that the schema does not allow, and for a selected one that is missing
 */
export function shapeData(
  options: ShapeOptions,
  type: GraphQLOutputType,
  {
    value,
    nodes,
    path,
  }: { readonly value: unknown; readonly nodes: readonly FieldNode[]; readonly path: string },
): unknown {
  if (isNonNullType(type)) {
    if (value === null || value === undefined) {
      const got = value === null ? "null" : "nothing";
      throw new ShapeError(path, `expected ${type.ofType}, got ${got}, and the schema does not allow null`);
    }
    return shapeData(options, type.ofType, { value, nodes, path });
  }
  if (value === null || value === undefined) return null;
  if (isListType(type)) {
    if (!Array.isArray(value)) throw new ShapeError(path, `expected a list, got ${describeValue(value)}`);
    return value.map((item, index) =>
      shapeData(options, type.ofType, { value: item, nodes, path: `${path}.${index}` }),
    );
  }
  if (isLeafType(type)) {
    const expected = isEnumType(type)
      ? enumExpectation(
          type.getValues().map(({ name }) => name),
          value,
        )
      : scalarExpectation(type.name, value);
    if (expected !== null) throw new ShapeError(path, `expected ${expected}, got ${describeValue(value)}`);
    return value;
  }
  if (!isPlainObject(value)) throw new ShapeError(path, `expected an object, got ${describeValue(value)}`);
  const objectType = objectTypeOf(options, type, { value, path });
  return objectType ? shapeObject(options, objectType, { value, nodes, path }) : value;
}

function shapeObject(
  options: ShapeOptions,
  type: GraphQLObjectType,
  { value, nodes, path }: { value: Record<string, unknown>; nodes: readonly FieldNode[]; path: string },
): Record<string, unknown> {
  const { select, by } = options;
  const fields = type.getFields();
  const selected = select?.(
    type,
    nodes.flatMap(({ selectionSet }) => selectionSet ?? []),
  );
  const known = by === "response-key" && selected ? [...selected.keys()] : Object.keys(fields);
  for (const name of Object.keys(value)) {
    if (name === "__typename" || known.includes(name)) continue;
    throw new ShapeError(path, `unknown field ${name} of ${type.name}${didYouMean(name, known)}`);
  }
  const shape = (name: string, key: string, inner: readonly FieldNode[]) => {
    const field = fields[name];
    const found = Object.hasOwn(value, key) ? value[key] : undefined;
    return field
      ? shapeData(options, field.type, { value: found, nodes: inner, path: `${path}.${key}` })
      : found;
  };
  const entries = selected
    ? [...selected].map(([key, inner]) => {
        const name = inner[0]?.name.value ?? key;
        if (name === "__typename") return [key, type.name];
        return [key, shape(name, by === "name" ? name : key, inner)];
      })
    : Object.keys(value).map((name) => [name, name === "__typename" ? type.name : shape(name, name, [])]);
  return Object.fromEntries(entries);
}

/** `null` for a union whose member is not named, before a request is known. */
function objectTypeOf(
  { schema, select }: ShapeOptions,
  type: GraphQLOutputType,
  { value, path }: { value: Record<string, unknown>; path: string },
): GraphQLObjectType | null {
  if (isObjectType(type)) return type;
  if (!isAbstractType(type)) return null;
  const types = schema.getPossibleTypes(type);
  const name = value["__typename"];
  const found = types.find((each) => each.name === name);
  if (found) return found;
  if (name === undefined && !select) return null;
  const names = types.map((each) => JSON.stringify(each.name)).join(" or ");
  const got = name === undefined ? "nothing" : describeValue(name);
  throw new ShapeError(`${path}.__typename`, `expected ${names}, got ${got}`);
}

const enumExpectation = (names: readonly string[], value: unknown): string | null =>
  names.includes(value as string) ? null : names.map((name) => JSON.stringify(name)).join(", ");

function scalarExpectation(name: string, value: unknown): string | null {
  switch (name) {
    case "String":
      return typeof value === "string" ? null : "text";
    case "ID":
      return typeof value === "string" || Number.isInteger(value) ? null : "an id";
    case "Int":
      return Number.isInteger(value) ? null : "a whole number";
    case "Float":
      return Number.isFinite(value) ? null : "a number";
    case "Boolean":
      return typeof value === "boolean" ? null : "true or false";
    case "Date":
      return typeof value === "string" && !Number.isNaN(Date.parse(value)) ? null : "a time in RFC 3339";
    default:
      return null;
  }
}
