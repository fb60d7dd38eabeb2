// Two schemas over one store: `@router` in `schema.graphql` says which router has a field; the other one does
// not. Each schema is built once per process, for all mocks.

import { getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import {
  buildASTSchema,
  type DocumentNode,
  type FieldDefinitionNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLInputField,
  type GraphQLSchema,
  GraphQLUnionType,
  getNullableType,
  isInputObjectType,
  isObjectType,
  Kind,
  parse,
} from "graphql";
import { schemaText } from "../../generated/schema-text.ts";
import type { Router } from "../../state/router.ts";
import { type ResolverContext, resolvers } from "./resolvers.ts";

const schemas = new Map<Router, GraphQLSchema>();
const plainSchemas = new Map<Router, GraphQLSchema>();

export const routerSchema = (router: Router): GraphQLSchema =>
  getOrCreate(schemas, router, () => {
    const schema = buildSchema(router);
    attachResolvers(schema);
    return schema;
  });

/** The same schema without resolvers: its fields are those of the data that it is given. */
export const plainSchema = (router: Router): GraphQLSchema => getOrCreate(plainSchemas, router, buildSchema);

const buildSchema = (router: Router) =>
  buildASTSchema(fieldsServedBy(router, contract()), { assumeValid: true });

let parsed: DocumentNode | undefined;

function contract(): DocumentNode {
  parsed ??= parse(schemaText, { noLocation: true });
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
  for (const type of Object.values(schema.getTypeMap())) {
    const typeResolvers = resolvers[type.name as keyof typeof resolvers] ?? {};
    if (type instanceof GraphQLUnionType && "__resolveType" in typeResolvers) {
      type.resolveType = typeResolvers.__resolveType as (value: unknown) => string;
    } else if (isObjectType(type)) {
      for (const field of Object.values(type.getFields())) {
        const resolve = resolverOf(field, typeResolvers as TypeResolvers);
        if (resolve) field.resolve = resolve;
      }
    }
  }
}

type Resolver = GraphQLFieldResolver<unknown, ResolverContext>;
type TypeResolvers = Readonly<Record<string, Resolver>>;

function resolverOf(field: GraphQLField<unknown, ResolverContext>, typeResolvers: TypeResolvers) {
  const resolve = typeResolvers[field.name];
  if (!resolve || field.args.length === 0) return resolve;
  const withDefaults: Resolver = (source, args, context, info) => {
    applyDefaults(field.args, args);
    return resolve(source, args, context, info);
  };
  return withDefaults;
}

type Input = GraphQLArgument | GraphQLInputField;

/** Replaces each explicit `null` by the schema's default: graphql-js applies it to omitted values only. */
function applyDefaults(inputs: readonly Input[], values: Record<string, unknown>): void {
  for (const { name, type, defaultValue } of inputs) {
    const value = values[name];
    if (value === null && defaultValue !== undefined) values[name] = defaultValue;
    const inputType = getNullableType(type);
    if (isInputObjectType(inputType) && isPlainObject(value)) {
      applyDefaults(Object.values(inputType.getFields()), value);
    }
  }
}
