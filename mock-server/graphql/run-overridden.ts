// An operation with overrides: their fields get the responses of the test, the others run as always. The token, the rate
// limit and the validation of the request stay as they are.

import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getArgumentValues,
  getDirectiveValues,
  getVariableValues,
  isNonNullType,
  Kind,
  locatedError,
  type SelectionNode,
} from "graphql";
import { isPlainObject } from "../../sdk/kernel/plain-object.ts";
import { keyIdOf, requireToken } from "../rules/identity/caller.ts";
import { ServiceError } from "../rules/service-error.ts";
import type { OverriddenCall, Override, OverrideResponse } from "../world/override-store.ts";
import {
  collectFields,
  conditionApplies,
  type Fragments,
  fragmentAt,
  fragmentsOf,
} from "./documents/collect-fields.ts";
import type { PreparedOperation } from "./documents/document-cache.ts";
import type { RequestContext } from "./request-context.ts";
import { routerSchema } from "./schema/router-schema.ts";
import { type SelectFields, ShapeError, shapeData } from "./shape-data.ts";

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

interface Run {
  readonly context: RequestContext;
  readonly document: DocumentNode;
  readonly fragments: Fragments;
  readonly operation: PreparedOperation;
  readonly schema: GraphQLSchema;
  readonly root: GraphQLObjectType;
  readonly variables: Record<string, unknown>;
  readonly select: SelectFields;
}

export async function runOverridden(
  context: RequestContext,
  operation: PreparedOperation,
  overrides: ReadonlyMap<string, Override>,
): Promise<ExecutionResult> {
  const document = context.prepared?.document;
  const schema = routerSchema(context.router);
  const root = schema.getRootType(operation.node.operation);
  if (!document || !root) throw new Error("the request has no operation");
  const definitions = operation.node.variableDefinitions ?? [];
  const { errors, coerced } = getVariableValues(schema, definitions, context.params?.variables ?? {});
  if (errors) return { errors };
  const fragments = fragmentsOf(document);
  const select = createSelect(schema, fragments, coerced);
  const run: Run = { context, document, fragments, operation, schema, root, variables: coerced, select };
  context.overridden = [...overrides.keys()];

  const fields = select(root, [operation.node.selectionSet]);
  const real = [...fields.values()].flatMap(([node]) =>
    node && !overrides.has(node.name.value) ? [node] : [],
  );
  const others = real.length > 0 ? await runFields(run, (name) => !overrides.has(name)) : { data: {} };
  const data: Record<string, unknown> = {};
  const all = [...(others.errors ?? [])];
  let isNull = others.data == null;
  for (const [key, nodes] of fields) {
    const name = nodes[0]?.name.value ?? "";
    const override = overrides.get(name);
    if (!override) {
      data[key] = others.data?.[key];
      continue;
    }
    const result = await respond(run, override, { key, nodes, name });
    all.push(...result.errors);
    data[key] = result.value;
    const field = root.getFields()[name];
    if (result.value === null && !result.invalid && field && isNonNullType(field.type)) isNull = true;
  }
  return { data: isNull ? null : data, ...(all.length > 0 ? { errors: all } : {}) };
}

interface Field {
  readonly key: string;
  readonly name: string;
  readonly nodes: FieldNode[];
}

async function respond(run: Run, override: Override, field: Field) {
  const definition = run.root.getFields()[field.name];
  try {
    if (!definition) throw new Error(`there is no operation ${field.name}`);
    if (!isPublic(definition)) requireToken(run.context.caller);
    const response = await responseOf(run, override, { ...field, definition });
    const { errors = [], invalid = override.invalid ?? false } = response;
    const value = await fieldValue(run, response, { ...field, definition, invalid });
    const located = errors.map(
      ({ message, code, path = [] }) =>
        new GraphQLError(message, {
          nodes: field.nodes,
          path: [field.key, ...path],
          ...(code === undefined ? {} : { extensions: { code } }),
        }),
    );
    return { value, invalid, errors: located };
  } catch (error) {
    // The message is for the author of the test, who would not find it behind "Internal server error".
    const isOfService = error instanceof ServiceError || error instanceof GraphQLError;
    const shown = isOfService
      ? error
      : new GraphQLError(`override ${override.id} of ${messageOf(error, field)}`, wrong);
    return { value: null, invalid: false, errors: [locatedError(shown, field.nodes, [field.key])] };
  }
}

const messageOf = (error: unknown, { name }: Field): string =>
  error instanceof ShapeError
    ? error.message
    : `${name}: the function threw ${error instanceof Error ? error.message : String(error)}`;

const wrong = { extensions: { code: "INTERNAL_SERVER_ERROR" } };

type DefinedField = Field & { readonly definition: GraphQLField<unknown, unknown> };

async function responseOf(run: Run, override: Override, field: DefinedField): Promise<OverrideResponse> {
  if (typeof override.respond !== "function") return override.respond;
  const { context, operation, variables } = run;
  const [node] = field.nodes;
  const call: OverriddenCall = {
    operation: field.name,
    operationName: operation.name,
    args: node ? getArgumentValues(field.definition, node, variables) : {},
    variables: context.params?.variables ?? {},
    keyId: keyIdOf(context.caller),
    workspaceId: context.caller.kind === "member" ? context.caller.workspace.id : null,
    count: override.calls,
    original: () => originalOf(run, field),
  };
  const response: unknown = await override.respond(call);
  const isResponse =
    isPlainObject(response) && ["data", "patch", "errors"].some((each) => response[each] !== undefined);
  if (isResponse) return response as OverrideResponse;
  throw new ShapeError(field.name, "expected the function to return { data }, { patch } or { errors }");
}

async function fieldValue(
  run: Run,
  { data, patch, errors }: OverrideResponse,
  { key, name, nodes, definition, invalid }: DefinedField & { readonly invalid: boolean },
): Promise<unknown> {
  if (data === undefined && patch === undefined && errors) return null;
  const value = patch ? merge(await originalOf(run, { key, name, nodes }), patch) : data;
  if (invalid) return value ?? null;
  const by = patch ? "response-key" : "name";
  return shapeData({ ...run, by }, definition.type, { value, nodes, path: name });
}

async function originalOf(run: Run, { key, name }: Pick<Field, "key" | "name" | "nodes">): Promise<unknown> {
  const { data, errors } = await runFields(run, (each) => each === name);
  if (errors?.[0]) throw errors[0];
  return data?.[key];
}

function merge(value: unknown, patch: unknown): unknown {
  if (!isPlainObject(value) || !isPlainObject(patch)) return patch;
  const merged = Object.entries(patch).map(([name, inner]) => [name, merge(value[name], inner)]);
  return { ...value, ...Object.fromEntries(merged) };
}

/** Executes the operation with these top-level fields only. */
async function runFields(
  { context, document, fragments, operation, schema }: Run,
  includes: (name: string) => boolean,
): Promise<ExecutionResult> {
  const { world, caller, params } = context;
  const inline = (selections: readonly SelectionNode[]): SelectionNode[] =>
    selections.flatMap((node): SelectionNode[] => {
      if (node.kind === Kind.FIELD) return includes(node.name.value) ? [node] : [];
      const inner = fragmentAt(fragments, node);
      if (!inner) return [];
      const selectionSet = { ...inner.selectionSet, selections: inline(inner.selectionSet.selections) };
      if (selectionSet.selections.length === 0) return [];
      return [{ kind: Kind.INLINE_FRAGMENT, selectionSet, directives: node.directives ?? [] }];
    });
  const { selectionSet } = operation.node;
  const own = {
    ...operation.node,
    selectionSet: { ...selectionSet, selections: inline(selectionSet.selections) },
  };
  const definitions = document.definitions.map((each) => (each === operation.node ? own : each));
  return execute({
    schema,
    document: { ...document, definitions },
    operationName: operation.name,
    variableValues: params?.variables ?? null,
    contextValue: { world, caller },
  });
}

function createSelect(
  schema: GraphQLSchema,
  fragments: Fragments,
  variables: Record<string, unknown>,
): SelectFields {
  const isIncluded = (node: SelectionNode) =>
    getDirectiveValues(GraphQLSkipDirective, node, variables)?.["if"] !== true &&
    getDirectiveValues(GraphQLIncludeDirective, node, variables)?.["if"] !== false;

  return (type, selectionSets) => {
    const applies = (condition: string) => conditionApplies(schema, type, condition);
    return collectFields(selectionSets, { fragments, isIncluded, applies });
  };
}

const isPublic = ({ astNode }: GraphQLField<unknown, unknown>): boolean =>
  astNode?.directives?.some(({ name }) => name.value === "public") ?? false;
