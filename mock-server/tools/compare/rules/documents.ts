// Whether the operations that the SDK ships still fit: their documents are accepted, and what is returned has their types.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { operationDocuments, plainSchema, type Router } from "@workspace-tasks/mock-server/parts";
import * as graphql from "graphql";
import { accepted, type Fact, type Rule, rule } from "../ask/rule.ts";
import { Untestable } from "../ask/send.ts";
import type { OperationName, Service, ServiceError, ServiceResponse } from "../ask/service.ts";

/**
 * A mutation's document, validated by the service and not executed: it executes the operation that is named, which is the
 * query.
 */
export const validate = (service: Service, name: OperationName, router = operationDocuments[name].router) => {
  const document = `query Check { __typename }\n\n${operationDocuments[name].text}`;
  return service.graphql(document, {}, { operationName: "Check", token: "admin", router });
};

const isValidated = (name: OperationName) =>
  operationDocuments[name].kind === "mutation" && name !== "ExchangeApiKey" && name !== "LoginPartner";

const fitting = "the types of the contract";
const unselected = "a field that was not selected";

const documentRule = (name: OperationName): Rule => {
  const { text, router } = operationDocuments[name];
  return rule(
    `${name === "Me" ? "K10 " : ""}V1 A-34 drift.${name}: the operation ${name} is accepted, and what it returns has ${fitting}`,
    fitting,
    async (service) => {
      // No other rule depends on this document: it also asks for fields of `User`, which the interface does not show.
      if (name === "Me") {
        await service.operation("Me");
        await service.operation("Me", {}, { token: "user" });
      }
      const validated = isValidated(name) ? await validate(service, name) : null;
      const returned = service.responses.filter((each) => each.document === text && each.body === "graphql");
      const all = validated ? [validated, ...returned] : returned;
      const errors = all.flatMap((response) => response.errors.filter(isAboutDocument));
      const results = returned.filter((response) => response.data && response.errors.length === 0);
      const issues = [
        ...errors.map(({ message }) => message),
        ...results.flatMap((response) => shapeIssues(response, router)),
      ];
      if (issues.length > 0) return [...new Set(issues)].toSorted();
      if (all.length === 0) throw new Untestable(`no response shows ${name}`);
      // Rejected for another reason, such as a limit of operations per document.
      if (validated && results.length === 0) accepted(validated);
      return fitting;
    },
    {
      ...(isValidated(name) ? { needs: "writes" } : {}),
      keeps: (_, issues) =>
        isBeyondInterface(name) ||
        (Array.isArray(issues) && issues.every((issue: Fact) => isOpen(String(issue), router))),
    },
  );
};

/** What does not fit the types that a document selects, such as `WorkspaceUser.role: expected WorkspaceRole!`. */
function shapeIssues({ data, document, variables }: ServiceResponse, router: Router): readonly string[] {
  const issues: string[] = [];
  // The document is executed over the data.
  const result = graphql.executeSync({
    schema: plainSchema(router),
    document: graphql.parse(document, { noLocation: true }),
    variableValues: variables,
    rootValue: data,
    fieldResolver(source, _args, _context, { path, parentType, fieldName, returnType }) {
      const value = source[path.key];
      if (Object.hasOwn(source, path.key) && fits(value, returnType)) return value;
      issues.push(`${parentType.name}.${fieldName}: expected ${returnType}`);
      return null;
    },
    typeResolver({ __typename: name }, _context, { schema, parentType, fieldName }, union) {
      if (schema.getPossibleTypes(union).some((member) => member.name === name)) return name;
      issues.push(`${parentType.name}.${fieldName}: expected ${union.name}`);
      return undefined;
    },
  });
  return issues.length === 0 && hasMore(data, result.data) ? [unselected] : issues;
}

const isText = (value: unknown) => typeof value === "string";
const scalars: Readonly<Record<string, (value: unknown) => boolean>> = {
  Int: Number.isInteger,
  Float: Number.isFinite,
  Boolean: (value) => typeof value === "boolean",
  // Which form times have is a rule of its own.
  Date: (value) => typeof value === "string" || typeof value === "number",
  String: isText,
  ID: isText,
};

/** Whether a value is of a type; what is below an object is not looked at. */
function fits(value: unknown, type: graphql.GraphQLOutputType): boolean {
  if (value === null || value === undefined) return !graphql.isNonNullType(type);
  const nullable = graphql.getNullableType(type);
  if (graphql.isListType(nullable))
    return Array.isArray(value) && value.every((item) => fits(item, nullable.ofType));
  if (graphql.isEnumType(nullable)) return nullable.getValue(String(value)) !== undefined;
  if (graphql.isCompositeType(nullable)) return isPlainObject(value);
  return scalars[nullable.name]?.(value) ?? true;
}

/** Whether an object has fields that the same object of the result has not. */
function hasMore(value: unknown, selected: unknown): boolean {
  if (Array.isArray(value) && Array.isArray(selected))
    return value.some((item, index) => hasMore(item, selected[index]));
  if (!isPlainObject(value) || !isPlainObject(selected)) return false;
  return Object.keys(value).some((key) => !(key in selected) || hasMore(value[key], selected[key]));
}

type Described = graphql.GraphQLNamedType | graphql.GraphQLField<unknown, unknown>;

/** What `schema.graphql` marks. */
const isMarked = (each: Described | undefined): boolean =>
  each?.astNode?.directives?.some(({ name }) => name.value === "beyondInterface") === true;

/** Whether the interface shows nothing of an operation. */
function isBeyondInterface(name: OperationName): boolean {
  const { text, router } = operationDocuments[name];
  const roots = Object.values(plainSchema(router).getMutationType()?.getFields() ?? {});
  return roots.some((field) => isMarked(field) && text.includes(` ${field.name}(`));
}

/** Whether the interface leaves open what an issue is about: its first type, or the field of that. */
function isOpen(issue: string, router: Router): boolean {
  if (issue === unselected) return true;
  const words = issue.match(/\w+/g) ?? [];
  const type = words.flatMap((word) => plainSchema(router).getType(word) ?? [])[0];
  const field = graphql.isObjectType(type)
    ? words.flatMap((word) => type.getFields()[word] ?? [])[0]
    : undefined;
  return isMarked(type) || isMarked(field);
}

const isAboutDocument = ({ code, message }: ServiceError) =>
  code === "GRAPHQL_VALIDATION_FAILED" ||
  /^(Cannot query field|Unknown (argument|type|fragment)|Field )/.test(message);

/** Asked after the others, whose responses they read. */
export const documentRules: readonly Rule[] = (
  Object.keys(operationDocuments) as readonly OperationName[]
).map(documentRule);
