// Clients send the same few queries again and again, and graphql-js interprets them for each request. A query is
// therefore compiled once, into functions that write its response as text. They know no errors: what they do not expect
// (an exception, a promise, `null` where the schema has none, a directive) ends them, and graphql-js executes the query
// instead. That is possible because queries have no effects.

import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type GraphQLUnionType,
  getArgumentValues,
  getVariableValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  visit,
} from "graphql";
import type { ResolverContext } from "../schema/resolvers.ts";
import { collectFields } from "./collect-fields.ts";
import { quoteJson } from "./quote-json.ts";

/** The body of the response, or `null` when graphql-js must execute the query. */
export type CompiledQuery = (
  context: ResolverContext,
  variables: Readonly<Record<string, unknown>> | null | undefined,
) => string | null;

/** The fields of one query; a document with more of them, counted in each place of a fragment, is not compiled. */
const fieldsMax = 500;

interface Run {
  readonly context: ResolverContext;
  readonly variables: Record<string, unknown>;
}

/** Writes a value as JSON. */
type Write = (value: unknown, run: Run) => string;
type WriteObject = (value: Record<string, unknown>, run: Run) => string;

/** Thrown by the compiler and by compiled functions. */
const notCompilable = Symbol("graphql-js must execute the query");

/** `null` for what is not compiled: mutations, directives, interfaces, very many fields. */
export function compileQuery(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): CompiledQuery | null {
  const queryType = schema.getQueryType();
  if (operation.operation !== OperationTypeNode.QUERY || !queryType) return null;
  let write: WriteObject;
  try {
    write = createCompiler(schema, document).compileObject(queryType, [operation.selectionSet]);
  } catch (error) {
    if (error === notCompilable) return null;
    throw error;
  }
  const definitions = operation.variableDefinitions ?? [];
  let isDisabled = false;
  return (context, given) => {
    if (isDisabled) return null;
    const { coerced } =
      definitions.length === 0 ? noVariables : getVariableValues(schema, definitions, given ?? {});
    if (!coerced) return null;
    try {
      return `{"data":${write(noSource, { context, variables: coerced })}}`;
    } catch (error) {
      // Values that are promises are so in every response.
      if (error === notCompilable) isDisabled = true;
      return null;
    }
  };
}

const noVariables = { coerced: {} };
const noSource: Record<string, unknown> = {};
const noArguments = Object.freeze({});

function createCompiler(schema: GraphQLSchema, document: DocumentNode) {
  visit(document, {
    Directive() {
      throw notCompilable;
    },
  });
  let fieldCount = 0;

  function compileObject(type: GraphQLObjectType, selectionSets: readonly SelectionSetNode[]): WriteObject {
    if (type.isTypeOf) throw notCompilable;
    const applies = (condition: string) => conditionApplies(schema, type, condition);
    const fields = [...collectFields(document, selectionSets, applies)];
    fieldCount += fields.length;
    if (fieldCount > fieldsMax) throw notCompilable;
    const parts = fields.map(([name, nodes], index) => ({
      text: `${index === 0 ? "{" : ","}"${name}":`,
      write: compileField(type, nodes),
    }));
    return (source, run) => {
      let text = "";
      for (const part of parts) text += part.text + part.write(source, run);
      return `${text}}`;
    };
  }

  function compileField(type: GraphQLObjectType, nodes: readonly FieldNode[]): WriteObject {
    const [node] = nodes as [FieldNode];
    const fieldName = node.name.value;
    if (fieldName === "__typename") return () => `"${type.name}"`;
    const field = type.getFields()[fieldName];
    if (!field) throw notCompilable;
    const selectionSets = nodes.flatMap(({ selectionSet }) => (selectionSet ? [selectionSet] : []));
    const write = compileType(field.type, selectionSets);
    const { resolve } = field;
    // The root has no source whose properties could be read.
    if (!resolve && type === schema.getQueryType()) throw notCompilable;
    if (!resolve) return (source, run) => write(source[fieldName], run);
    const readArguments = compileArguments(field, node);
    // Resolvers of this service read nothing else of it.
    const info = { fieldName } as GraphQLResolveInfo;
    return (source, run) => write(resolve(source, readArguments(run), run.context, info), run);
  }

  function compileType(type: GraphQLOutputType, selectionSets: readonly SelectionSetNode[]): Write {
    if (isNonNullType(type)) {
      const write = compileNullable(type.ofType, selectionSets);
      return (value, run) => {
        if (value == null) throw new Error("null in a field that is not nullable");
        return write(value, run);
      };
    }
    const write = compileNullable(type, selectionSets);
    return (value, run) => (value == null ? "null" : write(value, run));
  }

  function compileNullable(type: GraphQLOutputType, selectionSets: readonly SelectionSetNode[]): Write {
    if (isLeafType(type)) return compileLeaf(type);
    if (isListType(type)) return compileList(compileType(type.ofType, selectionSets));
    if (isObjectType(type)) {
      const write = compileObject(type, selectionSets);
      return (value, run) => write(recordOf(value), run);
    }
    if (isUnionType(type)) return compileUnion(type, selectionSets);
    throw notCompilable;
  }

  function compileUnion(type: GraphQLUnionType, selectionSets: readonly SelectionSetNode[]): Write {
    const { resolveType } = type;
    if (!resolveType) throw notCompilable;
    const writers = new Map(type.getTypes().map((each) => [each.name, compileObject(each, selectionSets)]));
    return (value, run) => {
      const record = recordOf(value);
      const name = resolveType(record, run.context, {} as GraphQLResolveInfo, type);
      const write = typeof name === "string" ? writers.get(name) : undefined;
      if (!write) throw notCompilable;
      return write(record, run);
    };
  }

  return { compileObject };
}

/** The unions of the contract have no interfaces: a condition names the type, or a union that it is part of. */
function conditionApplies(schema: GraphQLSchema, type: GraphQLObjectType, condition: string): boolean {
  if (condition === type.name) return true;
  const conditionType = schema.getType(condition);
  return isUnionType(conditionType) && schema.isSubType(conditionType, type);
}

/** Arguments are created for each call: resolvers fill in defaults. */
function compileArguments(field: GraphQLField<unknown, unknown>, node: FieldNode) {
  if (field.args.length === 0) return () => noArguments;
  return ({ variables }: Run) => getArgumentValues(field, node, variables);
}

function compileList(write: Write): Write {
  return (value, run) => {
    if (!Array.isArray(value)) throw notCompilable;
    let text = "[";
    let separator = "";
    for (const item of value) {
      text += separator + write(item, run);
      separator = ",";
    }
    return `${text}]`;
  };
}

function compileLeaf(type: GraphQLLeafType): Write {
  const isText = type.name === "String" || type.name === "ID";
  return (value) => {
    if (isText && typeof value === "string") return quoteJson(value);
    if (typeof value === "function" || isThenable(value)) throw notCompilable;
    const text = JSON.stringify(type.serialize(value));
    if (text === undefined || text === "null") throw new Error("not a value of the type");
    return text;
  };
}

function recordOf(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || isThenable(value)) throw notCompilable;
  return value as Record<string, unknown>;
}

const isThenable = (value: unknown): boolean =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
