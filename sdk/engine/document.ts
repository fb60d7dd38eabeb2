// Any document can be sent, not only the generated ones. It is parsed once and cached: a query may be repeated after a
// failure and a mutation may not, so its kind has to be known, and a text with a syntax error should cost no request.

import { type DocumentNode, Kind, OperationTypeNode, parse, print } from "graphql";
import { BoundedCache } from "../call/bounded-cache.ts";
import type { Operation, Router, TypedDocument } from "../call/operation.ts";
import { WorkspaceTasksError } from "../errors.ts";

/** A parsed document, of any version of graphql-js. */
export interface ParsedDocument {
  readonly kind: string;
  readonly definitions: readonly unknown[];
}

/** A GraphQL document: a string, a generated typed document, or a parsed document. */
export type GraphQLDocument<Result, Variables> = string | TypedDocument<Result, Variables> | ParsedDocument;

export interface DocumentReader {
  /** The operation of a document that contains exactly one. */
  read<Result, Variables>(
    document: GraphQLDocument<Result, Variables>,
    router: Router,
    authenticated: boolean,
  ): Operation<Result, Variables>;
}

// Programs send a handful of documents; one that builds a new text for every call must not fill the memory.
const cachedMax = 200;

export function createDocumentReader(): DocumentReader {
  const cache = new BoundedCache<string, ReturnType<typeof operationIn>>(cachedMax);
  return {
    read(document, router, authenticated) {
      const text = textOf(document);
      const operation = cache.getOrSet(text, operationIn);
      return { document: text, ...operation, router, authenticated };
    },
  };
}

function textOf(document: unknown): string {
  if (typeof document === "string") return document;
  if (isDocumentNode(document)) return print(document);
  if (document instanceof String) return document.toString();
  throw invalid("a GraphQL document", "something else");
}

function operationIn(text: string) {
  let document: DocumentNode;
  try {
    document = parse(text, { noLocation: true });
  } catch (cause) {
    throw invalid("a GraphQL document", "a text with a syntax error", cause);
  }
  const operations = document.definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION);
  const [definition] = operations;
  if (definition === undefined || operations.length > 1) {
    throw invalid("a document with one operation", `one with ${operations.length}`);
  }
  const { name, operation } = definition;
  if (operation === OperationTypeNode.SUBSCRIPTION) throw invalid("a query or a mutation", "a subscription");
  return { name: name?.value, kind: operation };
}

function isDocumentNode(document: unknown): document is DocumentNode {
  return typeof document === "object" && document !== null && Reflect.get(document, "kind") === Kind.DOCUMENT;
}

function invalid(expected: string, got: string, cause?: unknown): WorkspaceTasksError {
  return new WorkspaceTasksError("ARGUMENT_INVALID", `request: expected ${expected}, got ${got}`, { cause });
}
