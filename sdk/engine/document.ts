// Any document can be sent, not only the generated ones. It is read once and remembered: a query may be
// repeated after a failure and a mutation may not, so its kind has to be known, and a text with a mistake in
// it should cost no request.

import {
  type DocumentNode,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  print,
} from "graphql";
import type { Operation, Router, TypedDocument } from "../call/operation.ts";
import { WorkspaceTasksError } from "../errors.ts";

/** A GraphQL document: text, a generated typed text, or a parsed document. */
export type GraphQLDocument<Result, Variables> = string | TypedDocument<Result, Variables> | DocumentNode;

interface ReadDocument {
  readonly text: string;
  readonly definition: OperationDefinitionNode;
}

export interface DocumentReader {
  /** The operation of a document that holds exactly one. */
  read<Result, Variables>(
    document: GraphQLDocument<Result, Variables>,
    router: Router,
    authenticated: boolean,
  ): Operation<Result, Variables>;
}

// Programs send a handful of documents; one that builds a new text for every call must not fill the memory.
const rememberedMax = 200;

export function createDocumentReader(): DocumentReader {
  const remembered = new Map<string, ReadDocument>();

  function lookUp(document: GraphQLDocument<unknown, unknown>): ReadDocument {
    const text = textOf(document);
    const known = remembered.get(text);
    if (known) return known;
    const read = { text, definition: onlyOperationIn(parseDocument(text)) };
    if (remembered.size >= rememberedMax) remembered.clear();
    remembered.set(text, read);
    return read;
  }

  return {
    read(document, router, authenticated) {
      const { text, definition } = lookUp(document as GraphQLDocument<unknown, unknown>);
      const kind = definition.operation === OperationTypeNode.QUERY ? "query" : "mutation";
      return { document: text, name: definition.name?.value, kind, router, authenticated };
    },
  };
}

function textOf(document: unknown): string {
  if (typeof document === "string") return document;
  if (isDocumentNode(document)) return print(document);
  if (document instanceof String) return document.toString();
  throw refuse("a GraphQL document", "something else");
}

function parseDocument(text: string): DocumentNode {
  try {
    return parse(text, { noLocation: true });
  } catch (cause) {
    throw refuse("a GraphQL document", "a text with a syntax error", cause);
  }
}

function onlyOperationIn({ definitions }: DocumentNode): OperationDefinitionNode {
  const operations = definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION);
  const [operation] = operations;
  if (operation === undefined || operations.length > 1) {
    throw refuse("a document with one operation", `one with ${operations.length}`);
  }
  if (operation.operation === OperationTypeNode.SUBSCRIPTION) {
    throw refuse("a query or a mutation", "a subscription");
  }
  return operation;
}

function isDocumentNode(document: unknown): document is DocumentNode {
  return typeof document === "object" && document !== null && Reflect.get(document, "kind") === Kind.DOCUMENT;
}

function refuse(expected: string, got: string, cause?: unknown): WorkspaceTasksError {
  return new WorkspaceTasksError("ARGUMENT_INVALID", `request: expected ${expected}, got ${got}`, { cause });
}
