import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import {
  buildASTSchema,
  type DocumentNode,
  type FieldDefinitionNode,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLUnionType,
  isObjectType,
  Kind,
  parse,
} from "graphql";
import type { ResolverContext } from "../rules/identity/resolver-context.ts";
import type { Router } from "../state/router.ts";
import { resolvers } from "./resolvers.ts";

// Two schemas over one store: `schema.graphql` says with `@router` who serves a field, and on the
// other router that field does not exist. Each is built once per process, for all mocks.

const schemas = new Map<Router, GraphQLSchema>();

export function routerSchema(router: Router): GraphQLSchema {
  const known = schemas.get(router);
  if (known) return known;
  const schema = buildASTSchema(fieldsServedBy(router, contract()), { assumeValid: true });
  attachResolvers(schema);
  schemas.set(router, schema);
  return schema;
}

let parsed: DocumentNode | undefined;

function contract(): DocumentNode {
  // The package names its own file, so that sources and build find it in the same place.
  parsed ??= parse(
    readFileSync(createRequire(import.meta.url).resolve("workspace-tasks/schema.graphql"), "utf8"),
    { noLocation: true },
  );
  return parsed;
}

function fieldsServedBy(router: Router, document: DocumentNode): DocumentNode {
  const definitions = document.definitions.map((definition) =>
    definition.kind === Kind.OBJECT_TYPE_DEFINITION && definition.fields
      ? { ...definition, fields: definition.fields.filter((field) => isServedBy(router, field)) }
      : definition,
  );
  return { ...document, definitions };
}

function isServedBy(router: Router, field: FieldDefinitionNode): boolean {
  const directive = field.directives?.find(({ name }) => name.value === "router");
  const names = directive?.arguments?.find(({ name }) => name.value === "names")?.value;
  if (names?.kind !== Kind.LIST) return true;
  return names.values.some((value) => value.kind === Kind.ENUM && value.value === router.toUpperCase());
}

function attachResolvers(schema: GraphQLSchema): void {
  for (const [typeName, fields] of Object.entries(resolvers)) {
    const type = schema.getType(typeName);
    if (type instanceof GraphQLUnionType && "__resolveType" in fields) {
      type.resolveType = fields.__resolveType as (value: unknown) => string;
    } else if (isObjectType(type)) attachToType(type, fields as TypeResolvers);
  }
}

type TypeResolvers = Readonly<Record<string, GraphQLFieldResolver<unknown, ResolverContext>>>;

function attachToType(type: GraphQLObjectType, fieldResolvers: TypeResolvers): void {
  const fields = type.getFields();
  for (const [name, resolve] of Object.entries(fieldResolvers)) {
    // Absent where another router serves the field.
    const field = fields[name];
    if (field) field.resolve = resolve;
  }
}
