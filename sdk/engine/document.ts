// Any document can be sent, not only the generated ones. It is read once and cached: a query may be repeated after a
// failure and a mutation may not, so its kind has to be known.

import type { DocumentNode, GraphQLError } from "graphql";
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
  ): Promise<Operation<Result, Variables>>;
}

// Programs send a handful of documents; one that builds a new text for every call must not fill the memory.
const cachedMax = 200;

export function createDocumentReader(): DocumentReader {
  const operations = new BoundedCache<string, ReturnType<typeof operationIn>>(cachedMax);
  const printed = new WeakMap<object, string>();

  async function textOf(document: unknown): Promise<string> {
    if (typeof document === "string") return document;
    if (document instanceof String) return document.toString();
    if (!isParsed(document)) throw invalid("a GraphQL document", "something else");
    const text = printed.get(document) ?? (await print(document));
    printed.set(document, text);
    return text;
  }

  return {
    async read(document, router, authenticated) {
      const text = await textOf(document);
      return {
        document: text,
        method: "request",
        ...(await operations.getOrSet(text, operationIn)),
        router,
        authenticated,
      };
    },
  };
}

let parser: Promise<typeof import("graphql/language/parser.js")> | undefined;

async function operationIn(text: string) {
  // Once: an import takes turns of the event loop also of a module that is loaded.
  parser ??= language(() => import("graphql/language/parser.js"));
  const { parse } = await parser;
  const { definitions } = readable(() => parse(text, { noLocation: true }));
  const operations = definitions.filter((each) => each.kind === "OperationDefinition");
  const [operation] = operations;
  if (operation === undefined || operations.length > 1) {
    throw invalid("a GraphQL document with one operation", `one with ${operations.length}`);
  }
  const { name, operation: kind } = operation;
  if (kind === "subscription") throw invalid("a query or a mutation", "a subscription");
  return { name: name?.value, kind };
}

async function print(document: ParsedDocument): Promise<string> {
  const { print: printNode } = await language(() => import("graphql/language/printer.js"));
  return readable(() => printNode(document as DocumentNode));
}

/** A part of graphql-js, loaded by the first call that needs it: most clients send the documents of the SDK alone. */
const language = <Module>(load: () => Promise<Module>): Promise<Module> =>
  load().catch((cause: unknown) => {
    throw invalid("the package graphql", "none; install it", cause);
  });

/** The error of graphql-js may quote the text, which may hold secrets: it has the place of a syntax error. */
function readable<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    const [place] = (cause as Partial<GraphQLError>).locations ?? [];
    throw invalid(
      "a GraphQL document",
      place ? `a syntax error in line ${place.line}, column ${place.column}` : "something else",
    );
  }
}

function isParsed(document: unknown): document is ParsedDocument {
  return typeof document === "object" && document !== null && Reflect.get(document, "kind") === "Document";
}

function invalid(expected: string, got: string, cause?: unknown): WorkspaceTasksError {
  return new WorkspaceTasksError("ARGUMENT_INVALID", `request: expected ${expected}, got ${got}`, { cause });
}
