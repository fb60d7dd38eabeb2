import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { type Router, routerSchema } from "@workspace-tasks/mock-server/parts";
import * as graphql from "graphql";
import { wordOf } from "./rule.ts";

export interface ShapeCheck {
  /** What does not fit the contract, such as `WorkspaceUser.role: unknown value owner`. */
  readonly issues: Set<string>;
  /** Fields that were returned. */
  readonly seen: Set<string>;
}

export const unselected = "a field that was not selected";

const schemas = new Map<Router, graphql.GraphQLSchema>();

/** The types of a router, without arguments: what was asked for is not checked. */
const typesOf = (router: Router) =>
  getOrCreate(schemas, router, () => {
    const types = graphql.parse(graphql.printSchema(routerSchema(router)), { noLocation: true });
    const FieldDefinition = (node: graphql.FieldDefinitionNode) => ({ ...node, arguments: [] });
    return graphql.buildASTSchema(graphql.visit(types, { FieldDefinition }), { assumeValid: true });
  });

/** Compares data with the types that its document selects: executes it over the data. */
export function checkShape(
  data: Readonly<Record<string, unknown>>,
  document: graphql.DocumentNode,
  router: Router,
  { issues, seen }: ShapeCheck,
): void {
  const result = graphql.executeSync({
    schema: typesOf(router),
    document: graphql.visit(document, { Argument: () => null, VariableDefinition: () => null }),
    rootValue: data,
    fieldResolver(source, _args, _context, { path, returnType, ...info }) {
      const value = source[path.key];
      seen.add(placeOf(info));
      const problem = Object.hasOwn(source, path.key) ? problemOf(value, returnType) : "missing";
      if (problem !== null) issues.add(`${placeOf(info)}: ${problem}`);
      return problem === null ? value : null;
    },
    typeResolver({ __typename: name }, _context, info, union) {
      const isMember = info.schema.getPossibleTypes(union).some((member) => member.name === name);
      if (!isMember)
        issues.add(
          `${placeOf(info)}: unknown type ${typeof name === "string" ? wordOf(name) : kindOf(name)}`,
        );
      return isMember ? name : undefined;
    },
  });
  if (issues.size === 0 && hasMore(data, result.data)) issues.add(unselected);
}

const placeOf = ({ parentType, fieldName }: Pick<graphql.GraphQLResolveInfo, "parentType" | "fieldName">) =>
  `${parentType.name}.${fieldName}`;

/** Whether an object has fields that the same object of the result has not. */
function hasMore(value: unknown, selected: unknown): boolean {
  if (Array.isArray(value) && Array.isArray(selected))
    return value.some((item, index) => hasMore(item, selected[index]));
  if (!isPlainObject(value) || !isPlainObject(selected)) return false;
  return Object.keys(value).some((key) => !(key in selected) || hasMore(value[key], selected[key]));
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

/** What is wrong with a value, not below it. */
function problemOf(value: unknown, type: graphql.GraphQLOutputType): string | null {
  if (value === null || value === undefined)
    return graphql.isNonNullType(type) ? `null, expected ${type}` : null;
  const nullable = graphql.getNullableType(type);
  if (graphql.isListType(nullable)) {
    if (!Array.isArray(value)) return `expected a list, received ${kindOf(value)}`;
    return value.map((item) => problemOf(item, nullable.ofType)).find((problem) => problem !== null) ?? null;
  }
  if (graphql.isEnumType(nullable)) {
    const names = nullable.getValues().map(({ name }) => name);
    if (typeof value !== "string") return `expected one of ${names.join(", ")}, received ${kindOf(value)}`;
    return names.includes(value) ? null : `unknown value ${wordOf(value)}`;
  }
  if (graphql.isCompositeType(nullable))
    return isPlainObject(value) ? null : `expected an object, received ${kindOf(value)}`;
  const scalar = scalars[nullable.name];
  return !scalar || scalar.accepts(value) ? null : `expected ${scalar.expected}, received ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "object") return Array.isArray(value) ? "a list" : "an object";
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
