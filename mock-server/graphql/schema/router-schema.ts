// Two schemas over one store: `@router` in `schema.graphql` says which router has a field; the other one does
// not. Each schema is built once per process, for all mocks.

import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import * as graphql from "graphql";
import { schemaText } from "../../generated/schema-text.ts";
import type { Router } from "../../state/router.ts";
import { type ResolverContext, resolvers } from "./resolvers.ts";

const schemas = new Map<Router, graphql.GraphQLSchema>();
const plainSchemas = new Map<Router, graphql.GraphQLSchema>();

export const routerSchema = (router: Router): graphql.GraphQLSchema =>
  getOrCreate(schemas, router, () => {
    const schema = buildSchema(router);
    attachResolvers(schema);
    return schema;
  });

/** The same schema without resolvers: its fields are those of the data that it is given. */
export const plainSchema = (router: Router): graphql.GraphQLSchema =>
  getOrCreate(plainSchemas, router, buildSchema);

const buildSchema = (router: Router) =>
  graphql.buildASTSchema(fieldsServedBy(router, contract()), { assumeValid: true });

let parsed: graphql.DocumentNode | undefined;

function contract(): graphql.DocumentNode {
  parsed ??= graphql.parse(schemaText, { noLocation: true });
  return parsed;
}

function fieldsServedBy(router: Router, document: graphql.DocumentNode): graphql.DocumentNode {
  const definitions = document.definitions.map((definition) =>
    definition.kind === graphql.Kind.OBJECT_TYPE_DEFINITION && definition.fields
      ? { ...definition, fields: definition.fields.filter((field) => isServedBy(router, field)) }
      : definition,
  );
  return { ...document, definitions };
}

function isServedBy(router: Router, field: graphql.FieldDefinitionNode): boolean {
  const directive = field.directives?.find(({ name }) => name.value === "router");
  const names = directive?.arguments?.find(({ name }) => name.value === "names")?.value;
  if (names?.kind !== graphql.Kind.LIST) return true;
  return names.values.some(
    (value) => value.kind === graphql.Kind.ENUM && value.value === router.toUpperCase(),
  );
}

function attachResolvers(schema: graphql.GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    const typeResolvers = resolvers[type.name as keyof typeof resolvers] ?? {};
    if (type instanceof graphql.GraphQLUnionType && "__resolveType" in typeResolvers) {
      type.resolveType = typeResolvers.__resolveType as (value: unknown) => string;
    } else if (graphql.isObjectType(type)) {
      for (const field of Object.values(type.getFields())) {
        const resolve = resolverOf(field, typeResolvers as TypeResolvers);
        if (resolve) field.resolve = resolve;
      }
    }
  }
}

type Resolver = graphql.GraphQLFieldResolver<unknown, ResolverContext>;
type TypeResolvers = Readonly<Record<string, Resolver>>;

function resolverOf(field: graphql.GraphQLField<unknown, ResolverContext>, typeResolvers: TypeResolvers) {
  const resolve = typeResolvers[field.name];
  if (!resolve || field.args.length === 0) return resolve;
  const withDefaults: Resolver = (source, args, context, info) => {
    applyDefaults(field.args, args);
    return resolve(source, args, context, info);
  };
  return withDefaults;
}

type Input = graphql.GraphQLArgument | graphql.GraphQLInputField;

/** Replaces each explicit `null` by the schema's default: graphql-js applies it to omitted values only. */
function applyDefaults(inputs: readonly Input[], values: Record<string, unknown>): void {
  for (const { name, type, defaultValue } of inputs) {
    const value = values[name];
    if (value === null && defaultValue !== undefined) values[name] = defaultValue;
    const inputType = graphql.getNullableType(type);
    if (graphql.isInputObjectType(inputType) && isPlainObject(value)) {
      applyDefaults(Object.values(inputType.getFields()), value);
    }
  }
}
