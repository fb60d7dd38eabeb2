import type { DocumentTypeDecoration } from "@graphql-typed-document-node/core";
import { operationTable } from "../generated/operation-table.ts";
import * as documents from "../generated/operations.ts";

/** A generated document of one operation, a text or parsed, with its result and variables as types. */
export interface TypedDocument<Result, Variables> extends DocumentTypeDecoration<Result, Variables> {}

export type OperationKind = "query" | "mutation";
export type Router = "base" | "gateway";

/** An operation without its types, as the engine handles it. */
export interface UntypedOperation {
  readonly document: string;
  /** The client's method that sends it, as messages name it. */
  readonly method: string;
  readonly name: string | undefined;
  readonly kind: OperationKind;
  /** The field that the operation asks for, where the SDK ships it. */
  readonly field?: string | undefined;
  readonly router: Router;
  /** False for an operation that needs no token and is not counted against the rate limit. */
  readonly authenticated: boolean;
  /** Whether it may be sent again when it is unknown whether it took effect. Default: true for a query. */
  readonly idempotent?: boolean | undefined;
  /** The data when a repeated call finds nothing: the call before it deleted what this one looks for. */
  readonly dataWhenGone?: unknown;
}

/** An operation ready to be sent: its document is analysed once. */
export interface Operation<Result, Variables>
  extends UntypedOperation,
    DocumentTypeDecoration<Result, Variables> {}

export type OperationName = keyof typeof operationTable;

type Documents = typeof documents;
type TypesOf<Name extends OperationName> =
  Documents[`${Name}Document`] extends TypedDocument<infer Result, infer Variables>
    ? { readonly result: Result; readonly variables: Variables }
    : never;

/**
 * The operation of a document under `sdk/operations`.
 *
 * @param method the client's method that sends it; an operation that several methods send is given its name by them
 */
export function defineOperation<Name extends OperationName>(
  name: Name,
  method: string,
  properties: { readonly idempotent?: true; readonly dataWhenGone?: TypesOf<Name>["result"] } = {},
): Operation<TypesOf<Name>["result"], TypesOf<Name>["variables"]> {
  // biome-ignore lint/performance/noDynamicNamespaceImportAccess: the client sends all of them.
  const document = documents[`${name}Document`].toString().trim();
  return { document, name, method, ...operationTable[name], ...properties };
}
