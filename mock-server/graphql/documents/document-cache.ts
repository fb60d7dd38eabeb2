// Partners send the same few documents again and again, so a document is parsed and validated once; its errors are
// cached too. Bounds are checked before the work they bound: the token count before parsing, the syntactic depth
// before validation, whose rules recurse.

import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import {
  type DocumentNode,
  GraphQLError,
  Kind,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  parse,
  specifiedRules,
  type ValidationRule,
  validate,
} from "graphql";
import { journalTextCharsMax, queryDepthMax, queryTokensMax } from "../../settings/bounds.ts";
import type { Router } from "../../state/router.ts";
import { routerSchema } from "../schema/router-schema.ts";
import { collectFields } from "./collect-fields.ts";
import { depthRule } from "./depth-rule.ts";
import { type RedactedDocument, redactDocument } from "./redaction.ts";

/** Everything about a document that does not depend on variables or the caller. */
export interface PreparedDocument {
  readonly document: DocumentNode | null;
  /** Empty when the document may run. */
  readonly errors: readonly GraphQLError[];
  /** For the journal: the text without secrets, and the variables that hold some. */
  readonly redacted: RedactedDocument;
  /** The operation of this name, or the only one; `null` without one, and when it is ambiguous. */
  operation(name: string | null | undefined): PreparedOperation | null;
}

export interface PreparedOperation {
  readonly node: OperationDefinitionNode;
  readonly name: string | null;
  /** Names of the top-level fields, fragments followed, duplicates removed. */
  readonly fields: readonly string[];
}

export interface DocumentCache {
  prepare(query: string): PreparedDocument;
}

const cachedDocumentsMax = 500;
/** Longer texts are not cached. */
const cachedCharsMax = 20_000;

/** Shared by all mocks of the process. */
export const documentCaches: Readonly<Record<Router, DocumentCache>> = {
  base: createDocumentCache("base"),
  gateway: createDocumentCache("gateway"),
};

function createDocumentCache(router: Router): DocumentCache {
  // Bounded: a client that interpolates values into its documents must not fill the memory.
  const cache = createBoundedCache<string, PreparedDocument>(cachedDocumentsMax);
  const prepare = (query: string) => prepareDocument(router, query);
  return {
    prepare: (query) => (query.length > cachedCharsMax ? prepare(query) : getOrCreate(cache, query, prepare)),
  };
}

function prepareDocument(router: Router, query: string): PreparedDocument {
  const { document, errors } = validateDocument(router, query);
  const operations = new Map<string | null, PreparedOperation | null>();
  const find = (name: string | null): PreparedOperation | null => {
    const cached = operations.get(name);
    if (cached !== undefined) return cached;
    const operation = document && errors.length === 0 ? findOperation(document, name) : null;
    // Names that the document does not have are not cached: clients can send any number of them.
    if (operation) operations.set(name, operation);
    return operation;
  };
  return {
    document,
    errors,
    redacted: redactDocument(query, document, journalTextCharsMax),
    operation: (name) => find(name ?? null),
  };
}

function validateDocument(router: Router, query: string) {
  let document: DocumentNode;
  try {
    document = parse(query, { maxTokens: queryTokensMax });
  } catch (error) {
    return { document: null, errors: [asParseError(error)] };
  }
  const rules = [
    ...specifiedRules,
    NoSchemaIntrospectionCustomRule,
    operationTypeRule,
    depthRule(queryDepthMax),
  ];
  const errors = validate(routerSchema(router), document, rules, { maxErrors: 20 });
  return { document, errors };
}

/** Rejects an operation of a type that the schema does not have, before execution would. */
const operationTypeRule: ValidationRule = (context) => ({
  OperationDefinition(node) {
    if (context.getSchema().getRootType(node.operation)) return;
    context.reportError(new GraphQLError(`The service has no ${node.operation} operations`, { nodes: node }));
  },
});

function asParseError(error: unknown): GraphQLError {
  // Anything but a syntax error comes from the parser's own recursion running out of stack.
  if (error instanceof GraphQLError) return withCode(error, "GRAPHQL_PARSE_FAILED");
  return new GraphQLError("Syntax Error: document is nested too deeply", {
    extensions: { code: "GRAPHQL_PARSE_FAILED" },
  });
}

function withCode(error: GraphQLError, code: string): GraphQLError {
  const { message, source, positions } = error;
  return new GraphQLError(message, {
    source: source ?? null,
    positions: positions ?? null,
    extensions: { code },
  });
}

function findOperation(document: DocumentNode, name: string | null): PreparedOperation | null {
  const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  const matching = (operations as OperationDefinitionNode[]).filter(
    (operation) => name === null || operation.name?.value === name,
  );
  const [node] = matching;
  if (!node || matching.length > 1) return null;
  return { node, name: node.name?.value ?? null, fields: topLevelFields(document, node) };
}

function topLevelFields(document: DocumentNode, { selectionSet }: OperationDefinitionNode): string[] {
  const nodes = [...collectFields(document, [selectionSet]).values()].flat();
  return [...new Set(nodes.map(({ name }) => name.value))];
}
