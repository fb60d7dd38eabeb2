// Any document can be sent, not only the generated ones. It is parsed once and cached: a query may be repeated after a
// failure and a mutation may not, so its kind has to be known, and a text with a syntax error should cost no request.

import { BoundedCache } from "../call/bounded-cache.ts";
import type { Operation, Router, TypedDocument } from "../call/operation.ts";
import { WorkspaceTasksError } from "../errors.ts";
import { parseOperations } from "./document-grammar.ts";
import { printDocument } from "./print-document.ts";

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
  const operations = new BoundedCache<string, ReturnType<typeof operationIn>>(cachedMax);
  const printed = new WeakMap<object, string>();

  function textOf(document: unknown): string {
    if (typeof document === "string") return document;
    if (document instanceof String) return document.toString();
    if (!isParsed(document)) throw invalid("a GraphQL document", "something else");
    const text = printed.get(document) ?? print(document);
    printed.set(document, text);
    return text;
  }

  return {
    read(document, router, authenticated) {
      const text = textOf(document);
      return {
        document: text,
        method: "request",
        ...operations.getOrSet(text, operationIn),
        router,
        authenticated,
      };
    },
  };
}

function operationIn(text: string) {
  const operations = orInvalid("a text with a syntax error", () => parseOperations(text));
  const [operation] = operations;
  if (operation === undefined || operations.length > 1) {
    throw invalid("a document with one operation", `one with ${operations.length}`);
  }
  const { name, type } = operation;
  if (type === "subscription") throw invalid("a query or a mutation", "a subscription");
  return { name, kind: type };
}

function print(document: ParsedDocument): string {
  return orInvalid("something else", () => printDocument(document));
}

function isParsed(document: unknown): document is ParsedDocument {
  return typeof document === "object" && document !== null && Reflect.get(document, "kind") === "Document";
}

function orInvalid<Value>(got: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    throw invalid("a GraphQL document", got, cause);
  }
}

function invalid(expected: string, got: string, cause?: unknown): WorkspaceTasksError {
  return new WorkspaceTasksError("ARGUMENT_INVALID", `request: expected ${expected}, got ${got}`, { cause });
}
