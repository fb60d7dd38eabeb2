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
  type SelectionSetNode,
  specifiedRules,
  type ValidationRule,
  validate,
} from "graphql";
import { journalTextCharsMax, queryDepthMax, queryTokensMax } from "../settings/settings.ts";
import type { Router } from "../state/fault.ts";
import { type RedactedDocument, redactDocument } from "./redaction.ts";
import { routerSchema } from "./schema.ts";

/** Everything about a document that does not depend on variables or the caller. */
export interface PreparedDocument {
  readonly document: DocumentNode | null;
  /** Empty when the document may run. */
  readonly errors: readonly GraphQLError[];
  /** What the journal records: the text without secrets, and the variables that hold some. */
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

interface DocumentCache {
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

/** The names of the top-level fields, each fragment followed once. */
function topLevelFields({ definitions }: DocumentNode, operation: OperationDefinitionNode): string[] {
  const fragments = definitions.filter((each) => each.kind === Kind.FRAGMENT_DEFINITION);
  const names = new Set<string>();
  const followed = new Set<SelectionSetNode>();
  const collect = (selectionSet: SelectionSetNode): void => {
    if (followed.has(selectionSet)) return;
    followed.add(selectionSet);
    for (const selection of selectionSet.selections) {
      if (selection.kind === Kind.FIELD) names.add(selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
      else {
        const fragment = fragments.find(({ name }) => name.value === selection.name.value);
        if (fragment) collect(fragment.selectionSet);
      }
    }
  };
  collect(operation.selectionSet);
  return [...names];
}

/** Rejects operations whose fields nest deeper than `depthMax`, fragments followed. */
export const depthRule =
  (depthMax: number): ValidationRule =>
  (context) => {
    // Each fragment is measured once: fragments that spread others twice would otherwise cost exponential time.
    const fragments = new Map<string, number>();

    const depthOfFragment = (name: string): number => {
      const measured = fragments.get(name);
      if (measured !== undefined) return measured;
      // Zero while it is being measured: another rule rejects cycles.
      fragments.set(name, 0);
      const depth = depthOf(context.getFragment(name)?.selectionSet);
      fragments.set(name, depth);
      return depth;
    };

    const depthOf = (selectionSet: SelectionSetNode | undefined): number => {
      const depths = selectionSet?.selections.map((selection) => {
        if (selection.kind === Kind.FRAGMENT_SPREAD) return depthOfFragment(selection.name.value);
        return depthOf(selection.selectionSet) + (selection.kind === Kind.FIELD ? 1 : 0);
      });
      return Math.max(0, ...(depths ?? []));
    };

    return {
      OperationDefinition(operation) {
        if (depthOf(operation.selectionSet) <= depthMax) return;
        const message = `Query is nested deeper than ${depthMax} fields`;
        context.reportError(new GraphQLError(message, { nodes: [operation.name ?? operation] }));
      },
    };
  };
