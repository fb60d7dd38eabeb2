// Any document can be sent, not only the generated ones. It is read once and cached: a query may be repeated after a
// failure and a mutation may not, so its kind has to be known.

import { createBoundedCache, getOrCreate } from "@workspace-tasks/kernel/cache.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { tagOf } from "@workspace-tasks/kernel/realm.ts";
import type { DocumentNode } from "graphql";
// The printer alone, without the parser. It is built into the package, so that no bundler has to find it.
import { print } from "graphql/language/printer.js";
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
  const operations = createBoundedCache<string, ReturnType<typeof operationIn>>(cachedMax);
  const printed = new WeakMap<object, string>();

  function textOf(document: unknown): string {
    if (tagOf(document) === "String") return String(document);
    if (!isPlainObject(document) || document["kind"] !== "Document") throw notDocument();
    return getOrCreate(printed, document, printDocument);
  }

  return {
    read(document, router, authenticated) {
      const text = textOf(document);
      const { name, kind } = getOrCreate(operations, text, operationIn);
      return { document: text, method: "request", name, kind, router, authenticated };
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

function printDocument(document: object): string {
  try {
    return print(document as DocumentNode);
  } catch (cause) {
    throw notDocument(cause);
  }
}

const notDocument = (cause?: unknown) => invalid("a GraphQL document", "something else", cause);

function invalid(expected: string, got: string, cause?: unknown): WorkspaceTasksError {
  return new WorkspaceTasksError("ARGUMENT_INVALID", `request: expected ${expected}, got ${got}`, { cause });
}

// The client needs the kinds and names of the operations in a text, no more of it: graphql-js, which would parse it, is
// larger than the rest of the SDK together. In a valid document they are what is outside of all brackets, before a `{`.
// Any other text is for the service to reject.

export interface OperationDefinition {
  readonly type: "query" | "mutation" | "subscription";
  readonly name: string | undefined;
}

const blockString = /"""(?:\\"""|[^"]|"{1,2}(?!"))*"""/;
const string = /"(?:\\.|[^"\\\n\r])*"/;
const comment = /#[^\n\r]*/;
const nameOrPunctuator = /[_A-Za-z][_0-9A-Za-z]*|[{}()[\]@]/;
const lexemes = [blockString, string, comment, nameOrPunctuator].map(({ source }) => source).join("|");

/** The operations of a valid document. */
export function findOperations(text: string): readonly OperationDefinition[] {
  const operations: OperationDefinition[] = [];
  let depth = 0;
  let head: string[] = [];
  for (const [lexeme] of text.matchAll(new RegExp(lexemes, "g"))) {
    if (/["#]/.test(lexeme)) continue;
    if (/[{([]/.test(lexeme)) {
      if (depth === 0 && lexeme === "{") {
        operations.push(...operationOf(head));
        head = [];
      }
      depth += 1;
    } else if (/[})\]]/.test(lexeme)) depth -= 1;
    else if (depth === 0) head.push(lexeme);
  }
  return operations;
}

/** @param head such as `query`, `Name`, `@`, `directive`; empty for the short form of a query */
function operationOf([type = "query", name]: readonly string[]): readonly OperationDefinition[] {
  if (type !== "query" && type !== "mutation" && type !== "subscription") return [];
  return [{ type, name: name === "@" ? undefined : name }];
}
