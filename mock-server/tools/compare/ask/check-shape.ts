import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { collectFields, type Router, routerSchema } from "@workspace-tasks/mock-server/parts";
import * as graphql from "graphql";
import { wordOf } from "./rule.ts";

export interface ShapeCheck {
  /** What does not fit the contract, such as `WorkspaceUser.role: unknown value owner`. */
  readonly issues: Set<string>;
  /** Fields that were returned. */
  readonly seen: Set<string>;
}

export const unselected = "a field that was not selected";

type Selections = readonly graphql.SelectionSetNode[];

interface Context extends ShapeCheck {
  readonly document: graphql.DocumentNode;
}

/** Compares data with the types that its document selects. */
export function checkShape(
  data: unknown,
  document: graphql.DocumentNode,
  router: Router,
  check: ShapeCheck,
): void {
  const operation = document.definitions.find(({ kind }) => kind === graphql.Kind.OPERATION_DEFINITION);
  if (operation?.kind !== graphql.Kind.OPERATION_DEFINITION) return;
  const type = routerSchema(router).getRootType(operation.operation);
  if (type) checkObject(data, type, [operation.selectionSet], { document, ...check });
}

function checkObject(
  value: unknown,
  type: graphql.GraphQLObjectType,
  selections: Selections,
  context: Context,
): void {
  const { issues, seen } = context;
  if (!isPlainObject(value)) {
    issues.add(`${type.name}: expected an object, received ${kindOf(value)}`);
    return;
  }
  const fields = collectFields(context.document, selections, (condition) => condition === type.name);
  for (const [key, nodes] of fields) {
    const name = nodes[0]?.name.value ?? "";
    const coordinate = `${type.name}.${name}`;
    const field = type.getFields()[name];
    if (!Object.hasOwn(value, key)) issues.add(`${coordinate}: missing`);
    else if (name === "__typename") {
      if (value[key] !== type.name) issues.add(`${coordinate}: received ${typeNameOf(value[key])}`);
    } else if (field) {
      seen.add(coordinate);
      const below = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
      checkValue(value[key], field.type, coordinate, below, context);
    }
  }
  if (Object.keys(value).some((key) => !fields.has(key))) issues.add(`${type.name}: ${unselected}`);
}

function checkValue(
  value: unknown,
  type: graphql.GraphQLOutputType,
  place: string,
  below: Selections,
  context: Context,
): void {
  const { issues } = context;
  if (value === null || value === undefined) {
    if (graphql.isNonNullType(type)) issues.add(`${place}: null, expected ${type}`);
    return;
  }
  const nullable = graphql.getNullableType(type);
  if (graphql.isListType(nullable)) {
    if (Array.isArray(value))
      for (const item of value) checkValue(item, nullable.ofType, place, below, context);
    else issues.add(`${place}: expected a list, received ${kindOf(value)}`);
    return;
  }
  if (graphql.isObjectType(nullable)) {
    checkObject(value, nullable, below, context);
    return;
  }
  if (graphql.isUnionType(nullable)) {
    const name = isPlainObject(value) ? value["__typename"] : undefined;
    const member = nullable.getTypes().find((each) => each.name === name);
    if (member) checkObject(value, member, below, context);
    else issues.add(`${place}: unknown type ${isPlainObject(value) ? typeNameOf(name) : kindOf(value)}`);
    return;
  }
  const problem = graphql.isEnumType(nullable)
    ? enumProblem(value, nullable)
    : scalarProblem(value, nullable.name);
  if (problem !== null) issues.add(`${place}: ${problem}`);
}

const typeNameOf = (value: unknown) => (typeof value === "string" ? wordOf(value) : kindOf(value));

function enumProblem(value: unknown, type: graphql.GraphQLEnumType): string | null {
  const names = type.getValues().map(({ name }) => name);
  if (typeof value !== "string") return `expected one of ${names.join(", ")}, received ${kindOf(value)}`;
  return names.includes(value) ? null : `unknown value ${wordOf(value)}`;
}

const text = { expected: "text", accepts: (value: unknown) => typeof value === "string" };
const scalars: Readonly<Record<string, { readonly expected: string; accepts(value: unknown): boolean }>> = {
  Int: { expected: "an integer", accepts: Number.isInteger },
  Float: { expected: "a number", accepts: (value) => typeof value === "number" },
  Boolean: { expected: "true or false", accepts: (value) => typeof value === "boolean" },
  // Which form times have is a rule of its own.
  Date: { expected: "a time", accepts: (value) => typeof value === "string" || typeof value === "number" },
  String: text,
  ID: text,
};

function scalarProblem(value: unknown, name: string): string | null {
  const scalar = scalars[name];
  return !scalar || scalar.accepts(value) ? null : `expected ${scalar.expected}, received ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "string") return "text";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a number";
  return String(value);
}

/** The number of fields that a document selects, on all types. */
export function selectedCount(document: graphql.DocumentNode): number {
  let count = 0;
  graphql.visit(document, {
    Field({ name }) {
      if (name.value !== "__typename") count += 1;
    },
  });
  return count;
}
