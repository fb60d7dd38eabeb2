// Any document can be sent, not only the generated ones. It is read once and cached: a query may be repeated after a
// failure and a mutation may not, so its kind has to be known.

import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import type { DocumentNode } from "graphql";
import type { Operation, Router, TypedDocument } from "../call/operation.ts";
import { WorkspaceTasksError } from "../errors.ts";
import { findOperations } from "./find-operations.ts";

/** A parsed document, of any version of graphql-js. */
export interface ParsedDocument {
  readonly kind: string;
  readonly definitions: readonly unknown[];
}

/** A GraphQL document: a string, a generated typed document, or a parsed document. */
export type GraphQLDocument<Result, Variables> = string | TypedDocument<Result, Variables> | ParsedDocument;

export interface DocumentReader {
  /** The operation of a document that contains exactly one; a promise only when it has to be printed. */
  read<Result, Variables>(
    document: GraphQLDocument<Result, Variables>,
    router: Router,
    authenticated: boolean,
  ): Operation<Result, Variables> | Promise<Operation<Result, Variables>>;
}

// Programs send a handful of documents; one that builds a new text for every call must not fill the memory.
const cachedMax = 200;

export function createDocumentReader(): DocumentReader {
  const operations = createBoundedCache<string, ReturnType<typeof operationIn>>(cachedMax);
  const printed = new WeakMap<ParsedDocument, Promise<string>>();

  function textOf(document: unknown): string | Promise<string> {
    if (typeof document === "string") return document;
    if (document instanceof String) return document.toString();
    if (!isParsed(document)) throw invalid("a GraphQL document", "something else");
    return getOrCreate(printed, document, (each) => {
      const text = print(each);
      // The next call tries again.
      text.catch(() => printed.delete(each));
      return text;
    });
  }

  return {
    read(document, router, authenticated) {
      const operationOf = (text: string) => {
        const { name, kind } = getOrCreate(operations, text, operationIn);
        return { document: text, method: "request", name, kind, router, authenticated };
      };
      const text = textOf(document);
      return typeof text === "string" ? operationOf(text) : text.then(operationOf);
    },
  };
}

function operationIn(text: string) {
  const operations = findOperations(text);
  const [operation] = operations;
  if (operation === undefined || operations.length > 1) {
    throw invalid("a GraphQL document with one operation", `one with ${operations.length}`);
  }
  const { name, type } = operation;
  if (type === "subscription") throw invalid("a query or a mutation", "a subscription");
  return { name, kind: type };
}

/** With graphql-js, which a program that parses documents has; of it the printer alone, which bundlers then include. */
async function print(document: ParsedDocument): Promise<string> {
  const { print: printNode } = await import("graphql/language/printer.js").catch((cause: unknown) => {
    throw invalid(
      "the package graphql, which prints a parsed document",
      "none; install it or send text",
      cause,
    );
  });
  try {
    return printNode(document as DocumentNode);
  } catch (cause) {
    throw invalid("a GraphQL document", "something else", cause);
  }
}

function isParsed(document: unknown): document is ParsedDocument {
  return typeof document === "object" && document !== null && Reflect.get(document, "kind") === "Document";
}

function invalid(expected: string, got: string, cause?: unknown): WorkspaceTasksError {
  return new WorkspaceTasksError("ARGUMENT_INVALID", `request: expected ${expected}, got ${got}`, { cause });
}
