import type { DocumentTypeDecoration } from "@graphql-typed-document-node/core";
import { operationTable } from "../generated/operation-table.ts";

/** A generated document: the text of one operation, with its result and variables as types. */
export interface TypedDocument<Result, Variables> extends DocumentTypeDecoration<Result, Variables> {
  toString(): string;
}

export type OperationKind = "query" | "mutation";
export type Router = "base" | "gateway";

/** An operation ready to be sent: everything about its document is worked out once. */
export interface Operation<Result, Variables>
  extends OperationFacts,
    DocumentTypeDecoration<Result, Variables> {}

/** An operation without its types, as the engine handles it. */
export interface OperationFacts {
  readonly document: string;
  readonly name: string | undefined;
  readonly kind: OperationKind;
  readonly router: Router;
  /** False for an operation that carries no Bearer token and is not counted against the allowance. */
  readonly authenticated: boolean;
}

export type OperationName = keyof typeof operationTable;

// Interface §4 (the exchange, the catalog) and, beyond it, the partner login.
const publicFields = new Set<string>([
  "exchangeSurfaceRefreshTokenForAccessTokens",
  "loginViaPersonalApiToken",
  "webhookEventCatalog",
]);

/** Makes an operation of a document under `sdk/operations`. */
export function defineOperation<Result, Variables>(
  name: OperationName,
  document: TypedDocument<Result, Variables>,
): Operation<Result, Variables> {
  const { kind, router, fields } = operationTable[name];
  const authenticated = !fields.every((field) => publicFields.has(field));
  return { document: document.toString().trim(), name, kind, router, authenticated };
}
