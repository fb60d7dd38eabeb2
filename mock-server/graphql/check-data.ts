// Data of an override, compared with the schema: a test that responds with what the service can never send proves
// nothing, unless it says so.

import { describeValue } from "@workspace-tasks/kernel/describe-value.ts";
import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import * as graphql from "graphql";

/** Data that the schema does not allow; the message begins with its path. */
export class DataError extends Error {}

const mismatch = (path: string, expected: string, got: unknown) =>
  new DataError(`${path}: expected ${expected}, got ${describeValue(got)}`);

/**
 * Checks every field that the data has: which of them a request selects is not known yet.
 * @throws DataError for a value that the schema does not allow, and for a field that it does not have
 */
export function checkData(
  schema: graphql.GraphQLSchema,
  type: graphql.GraphQLOutputType,
  value: unknown,
  path: string,
): void {
  if (graphql.isNonNullType(type)) {
    if (value === null) throw mismatch(path, `${type.ofType}, and not null`, value);
    checkData(schema, type.ofType, value, path);
  } else if (value === null || value === undefined) return;
  else if (graphql.isListType(type)) {
    if (!Array.isArray(value)) throw mismatch(path, "a list", value);
    for (const [index, item] of value.entries()) checkData(schema, type.ofType, item, `${path}.${index}`);
  } else if (graphql.isLeafType(type)) checkLeaf(type, value, path);
  else if (isPlainObject(value)) checkObject(schema, type, value, path);
  else throw mismatch(path, "an object", value);
}

function checkLeaf(type: graphql.GraphQLLeafType, value: unknown, path: string): void {
  try {
    type.serialize(value);
  } catch {
    const names = graphql.isEnumType(type)
      ? type.getValues().map(({ name }) => JSON.stringify(name))
      : [type.name];
    throw mismatch(path, names.join(", "), value);
  }
}

function checkObject(
  schema: graphql.GraphQLSchema,
  type: graphql.GraphQLOutputType,
  value: Record<string, unknown>,
  path: string,
): void {
  const name = value["__typename"];
  // A member of a union that is not named is checked when a request selects it.
  const types = graphql.isAbstractType(type) ? schema.getPossibleTypes(type) : [];
  if (graphql.isAbstractType(type) && name === undefined) return;
  const objectType = graphql.isObjectType(type) ? type : types.find((each) => each.name === name);
  if (!objectType) throw mismatch(`${path}.__typename`, types.map((each) => each.name).join(" or "), name);
  const fields = objectType.getFields();
  for (const [field, inner] of Object.entries(value)) {
    if (field === "__typename") continue;
    const definition = fields[field];
    if (definition) checkData(schema, definition.type, inner, `${path}.${field}`);
    else {
      const hint = didYouMean(field, Object.keys(fields));
      throw new DataError(`${path}: unknown field ${field} of ${objectType.name}${hint}`);
    }
  }
}
