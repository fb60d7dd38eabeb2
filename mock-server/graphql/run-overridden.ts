// An operation with overrides: their fields get the responses of the test, the others run as always. The token, the rate
// limit and the validation of the request stay as they are. The operation is executed in a schema whose overridden fields
// send what they are given; that was executed before, with the schema without resolvers, which picks what is selected.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import * as graphql from "graphql";
import { keyIdOf, requireToken } from "../rules/identity.ts";
import { ServiceError } from "../rules/service-error.ts";
import {
  checkResponse,
  isOverrideResponse,
  type OverriddenCall,
  type Override,
} from "../world/override-store.ts";
import { DataError } from "./checks.ts";
import type { PreparedOperation } from "./documents.ts";
import type { RequestContext } from "./request.ts";
import { plainSchema, routerSchema } from "./schema.ts";

/** The overrides of the operation's top-level fields; `null` without any. */
export function takeOverrides(
  { world, router, params, caller }: RequestContext,
  operation: PreparedOperation,
): ReadonlyMap<string, Override> | null {
  const workspaceId = caller.kind === "member" ? caller.workspace.id : null;
  const target = { router, keyId: keyIdOf(caller), workspaceId, variables: params?.variables };
  const taken = new Map<string, Override>();
  for (const field of operation.fields) {
    const override = world.overrides.take({ ...target, operation: field });
    if (override) taken.set(field, override);
  }
  return taken.size > 0 ? taken : null;
}

export async function runOverridden(
  context: RequestContext,
  operation: PreparedOperation,
  overrides: ReadonlyMap<string, Override>,
): Promise<graphql.ExecutionResult> {
  const document = context.prepared?.document;
  if (!document) throw new Error("the request has no operation");
  context.overridden = [...overrides.keys()];
  const schema = routerSchema(context.router);
  const errors: graphql.GraphQLError[] = [];
  const own = withOverrides(schema, operation.node.operation, overrides, (override, field) =>
    respond({ context, override, ...field, errors }),
  );
  const result = await run(context, own, document, operation.name);
  const all = [...(result.errors ?? []), ...errors];
  return { ...result, ...(all.length > 0 ? { errors: all } : {}) };
}

interface Field {
  readonly args: Readonly<Record<string, unknown>>;
  readonly info: graphql.GraphQLResolveInfo;
}

const asItIs = new graphql.GraphQLScalarType({ name: "Overridden" });

function withOverrides(
  schema: graphql.GraphQLSchema,
  operation: graphql.OperationTypeNode,
  overrides: ReadonlyMap<string, Override>,
  send: (override: Override, field: Field) => Promise<unknown>,
): graphql.GraphQLSchema {
  const root = schema.getRootType(operation);
  if (!root) throw new Error("the request has no operation");
  const rootConfig = root.toConfig();
  const fields = { ...rootConfig.fields };
  for (const [name, override] of overrides) {
    const field = fields[name];
    if (!field) throw new Error(`there is no operation ${name}`);
    const type =
      graphql.isNonNullType(field.type) && !override.invalid ? new graphql.GraphQLNonNull(asItIs) : asItIs;
    fields[name] = {
      ...field,
      type,
      resolve: (_source, args, _context, info) => send(override, { args, info }),
    };
  }
  const config = schema.toConfig();
  const types = config.types.filter((each) => each !== root);
  return new graphql.GraphQLSchema({
    ...config,
    types,
    [operation]: new graphql.GraphQLObjectType({ ...rootConfig, fields }),
  });
}

interface Overridden extends Field {
  readonly context: RequestContext;
  readonly override: Override;
  /** Errors of the response, besides those that its fields throw. */
  readonly errors: graphql.GraphQLError[];
}

/** The value of an overridden field. Its errors are for the author of the test, who must see their messages. */
async function respond(field: Overridden): Promise<unknown> {
  const { context, override, info, errors } = field;
  try {
    if (!isPublic(info)) requireToken(context.caller);
    const { data, patch, errors: given = [] } = await responseOf(field);
    const [first, ...others] = given.map(({ message, code, path = [] }) => {
      const place = { nodes: info.fieldNodes, path: [info.path.key, ...path] };
      return new graphql.GraphQLError(message, {
        ...place,
        ...(code === undefined ? {} : { extensions: { code } }),
      });
    });
    errors.push(...others);
    if (first && data == null && !patch) throw first;
    if (first) errors.push(first);
    const value = patch
      ? merge(await originalOf(field), patch, override.invalid ? null : info.fieldName)
      : data;
    return override.invalid ? value : await select(field, value, patch ? "key" : "name");
  } catch (error) {
    if (error instanceof ServiceError || error instanceof graphql.GraphQLError) throw error;
    const message = isError(error) ? error.message : String(error);
    const reason = error instanceof DataError ? message : `${info.fieldName}: the function threw ${message}`;
    throw new graphql.GraphQLError(`override ${override.id} of ${reason}`, wrong);
  }
}

const wrong = { extensions: { code: "INTERNAL_SERVER_ERROR" } };

async function responseOf(field: Overridden) {
  const { context, override, args, info } = field;
  if (typeof override.respond !== "function") return override.respond;
  const call: OverriddenCall = {
    operation: info.fieldName,
    operationName: info.operation.name?.value ?? null,
    args,
    variables: context.params?.variables ?? {},
    keyId: keyIdOf(context.caller),
    workspaceId: context.caller.kind === "member" ? context.caller.workspace.id : null,
    count: override.calls,
    original: () => originalOf(field),
  };
  const response: unknown = await override.respond(call);
  if (!isOverrideResponse(response)) {
    throw new DataError(
      `${info.fieldName}: expected the function to return { data }, { patch } or { errors }`,
    );
  }
  try {
    checkResponse(info.fieldName, response);
  } catch (error) {
    throw new DataError(isError(error) ? error.message : String(error));
  }
  return response;
}

/** Besides what the request selects it names the types, by which a member of a union is known again. */
async function originalOf({ context, override, info }: Overridden): Promise<unknown> {
  const document = documentOf(info);
  const typed = override.invalid
    ? document
    : graphql.visit(document, { SelectionSet: { leave: withTypeName } });
  const { data, errors } = await run(context, routerSchema(context.router), typed);
  if (errors?.[0]) throw errors[0];
  return data?.[info.path.key];
}

const typeName: graphql.FieldNode = {
  kind: graphql.Kind.FIELD,
  name: { kind: graphql.Kind.NAME, value: "__typename" },
};

const withTypeName = (set: graphql.SelectionSetNode): graphql.SelectionSetNode => ({
  ...set,
  selections: [...set.selections, typeName],
});

/** @param path in the patch; `null` where it may have fields that the request does not select */
function merge(value: unknown, patch: unknown, path: string | null): unknown {
  if (!isPlainObject(value) || !isPlainObject(patch)) return patch;
  const merged = Object.entries(patch).map(([name, inner]) => {
    if (path === null) return [name, merge(value[name], inner, null)];
    if (!Object.hasOwn(value, name)) throw new DataError(`${path}: the request selects no field ${name}`);
    return [name, merge(value[name], inner, `${path}.${name}`)];
  });
  return { ...value, ...Object.fromEntries(merged) };
}

/**
 * What the request selects of the value.
 * @param by whether the value has fields by their name in the schema, or by the response key, which may be an alias.
 * A value by name has a field by its key when it comes from the real response.
 */
async function select({ context, info }: Overridden, value: unknown, by: "name" | "key"): Promise<unknown> {
  const { fieldName, path } = info;
  const { data, errors } = await run(context, plainSchema(context.router), documentOf(info), undefined, {
    rootValue: { [fieldName]: value, [path.key]: value },
    fieldResolver: (source: unknown, _args, _context, field) => {
      if (!isPlainObject(source)) throw new Error("expected an object");
      return source[by === "name" && field.fieldName in source ? field.fieldName : field.path.key];
    },
    typeResolver(source: unknown) {
      const name = isPlainObject(source) ? source["__typename"] : undefined;
      if (typeof name !== "string") throw new Error("expected __typename, the name of its type");
      return name;
    },
  });
  const [error] = errors ?? [];
  if (!error) return data?.[path.key];
  const place = [fieldName, ...(error.path ?? []).slice(1)].join(".");
  throw new DataError(`${place}: ${error.message}`);
}

function run(
  { world, caller, params }: RequestContext,
  schema: graphql.GraphQLSchema,
  document: graphql.DocumentNode,
  operationName: string | null = null,
  source: Pick<graphql.ExecutionArgs, "rootValue" | "fieldResolver" | "typeResolver"> = {},
): Promise<graphql.ExecutionResult> {
  const variableValues = params?.variables ?? null;
  const contextValue = { world, caller };
  return Promise.resolve(
    graphql.execute({ schema, document, operationName, variableValues, contextValue, ...source }),
  );
}

/** The operation with this field only. */
const documentOf = ({
  operation,
  fieldNodes,
  fragments,
}: graphql.GraphQLResolveInfo): graphql.DocumentNode => ({
  kind: graphql.Kind.DOCUMENT,
  definitions: [
    { ...operation, selectionSet: { kind: graphql.Kind.SELECTION_SET, selections: fieldNodes } },
    ...Object.values(fragments),
  ],
});

const isPublic = ({ parentType, fieldName }: graphql.GraphQLResolveInfo): boolean =>
  parentType.getFields()[fieldName]?.astNode?.directives?.some(({ name }) => name.value === "public") ??
  false;
