import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { Router } from "@workspace-tasks/mock-server/parts";
import {
  type DocumentNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  Kind,
  type SelectionSetNode,
} from "graphql";
import { fieldsOf, type Shape } from "../observe/observation.ts";
import { rootOf, type SelectedField, selectedFields } from "../observe/redact-data.ts";

export interface ShapeCheck {
  /** What does not fit the contract, such as `WorkspaceUser.role: unknown value owner`. */
  readonly issues: Set<string>;
  /** Fields that were returned. */
  readonly seen: Set<string>;
}

export const unselected = "a field that was not selected";

/** Compares redacted data with the types that its document selects. */
export function checkShape(data: Shape, document: DocumentNode, router: Router, check: ShapeCheck): void {
  const root = rootOf(document, router);
  if (root && data !== null) checkObject(data, root.type, root.selections, { document, ...check });
}

interface Context extends ShapeCheck {
  readonly document: DocumentNode;
}

function checkObject(
  value: Shape,
  type: GraphQLObjectType,
  selections: readonly SelectionSetNode[],
  context: Context,
): void {
  if (!isPlainObject(value)) {
    context.issues.add(`${type.name}: expected an object, received ${kindOf(value)}`);
    return;
  }
  const object = fieldsOf(value);
  for (const [key, field] of selectedFields(context.document, type, selections)) {
    const { coordinate } = field;
    if (!Object.hasOwn(object, key)) context.issues.add(`${coordinate}: missing`);
    else if (coordinate.endsWith(".__typename")) checkTypeName(object[key] ?? null, type, context);
    else if (field.type) {
      context.seen.add(coordinate);
      checkValue(object[key] ?? null, field.type, field, context);
    }
  }
  if (Object.hasOwn(object, "unexpected")) context.issues.add(`${type.name}: ${unselected}`);
}

function checkTypeName(value: Shape, type: GraphQLObjectType, { issues }: Context): void {
  if (value !== `enum:${type.name}`) issues.add(`${type.name}.__typename: received ${kindOf(value)}`);
}

function checkValue(value: Shape, type: GraphQLOutputType, field: SelectedField, context: Context): void {
  const { coordinate } = field;
  if (value === null) {
    if (isNonNullType(type)) context.issues.add(`${coordinate}: null, expected ${type}`);
    return;
  }
  const nullable = getNullableType(type);
  if (isListType(nullable)) {
    if (!Array.isArray(value))
      context.issues.add(`${coordinate}: expected a list, received ${kindOf(value)}`);
    else for (const item of value as readonly Shape[]) checkValue(item, nullable.ofType, field, context);
    return;
  }
  const named = getNamedType(type);
  if (isObjectType(named)) {
    checkObject(value, named, field.below, context);
    return;
  }
  if (isUnionType(named)) {
    checkUnion(value, named.getTypes(), field, context);
    return;
  }
  const problem = isEnumType(named)
    ? enumProblem(
        value,
        named.getValues().map(({ name }) => name),
      )
    : scalarProblem(value, named.name);
  if (problem !== null) context.issues.add(`${coordinate}: ${problem}`);
}

function checkUnion(
  value: Shape,
  members: readonly GraphQLObjectType[],
  field: SelectedField,
  context: Context,
): void {
  const tag = fieldsOf(value)["__typename"];
  const member = members.find(({ name }) => tag === `enum:${name}`);
  if (member) checkObject(value, member, field.below, context);
  else
    context.issues.add(
      `${field.coordinate}: unknown type ${tag === undefined ? kindOf(value) : kindOf(tag)}`,
    );
}

function enumProblem(value: Shape, names: readonly string[]): string | null {
  const [, name] = typeof value === "string" ? (/^enum:(.*)$/.exec(value) ?? []) : [];
  if (name === undefined) return `expected one of ${names.join(", ")}, received ${kindOf(value)}`;
  return names.includes(name) ? null : `unknown value ${name}`;
}

const isText = (value: Shape) =>
  typeof value === "string" && !["int", "float", "list", "object"].includes(value);

const scalars: Readonly<Record<string, { readonly expected: string; accepts(value: Shape): boolean }>> = {
  Int: { expected: "an integer", accepts: (value) => value === "int" },
  Float: { expected: "a number", accepts: (value) => value === "int" || value === "float" },
  Boolean: { expected: "true or false", accepts: (value) => typeof value === "boolean" },
  // Which form times have is a rule of its own.
  Date: { expected: "a time", accepts: (value) => String(value).startsWith("date") },
  String: { expected: "text", accepts: isText },
  ID: { expected: "text", accepts: isText },
};

function scalarProblem(value: Shape, name: string): string | null {
  const scalar = scalars[name];
  return !scalar || scalar.accepts(value) ? null : `expected ${scalar.expected}, received ${kindOf(value)}`;
}

function kindOf(value: Shape): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value !== "string") return String(value);
  const tag = value.replace(/[:#].*$/, "");
  const kinds: Readonly<Record<string, string>> = {
    "date-other": "a time in another format",
    enum: value.slice("enum:".length),
    word: "text",
    id: "text",
    url: "text",
    sent: "text",
    empty: "empty text",
    int: "an integer",
    float: "a number",
    list: "a list",
    object: "an object",
  };
  return kinds[tag] ?? tag;
}

/** The number of fields that a document selects, on all types. */
export function selectedCount(document: DocumentNode): number {
  let count = 0;
  const walk = ({ selections }: SelectionSetNode) => {
    for (const node of selections) {
      if (node.kind === Kind.FIELD && node.name.value !== "__typename") count += 1;
      if (node.kind !== Kind.FRAGMENT_SPREAD && node.selectionSet) walk(node.selectionSet);
    }
  };
  for (const definition of document.definitions)
    if ("selectionSet" in definition) walk(definition.selectionSet);
  return count;
}
