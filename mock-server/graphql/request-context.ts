import type { RequestParams } from "graphql-http";
import type { Caller } from "../rules/identity/caller.ts";
import type { ApiFault } from "../state/fault.ts";
import type { Router } from "../state/router.ts";
import type { PreparedDocument, PreparedOperation } from "./document-cache.ts";
import type { Formatted } from "./error-format.ts";

export type GraphqlRequest = {
  readonly method: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The text, or what was wrong with its bytes. */
  readonly body: RequestBody;
};

export type RequestBody = string | BodyProblem;
export type BodyProblem = { readonly problem: "too-large" | "not-utf-8" };

/** What one request turned out to be; each step adds what it finds, the journal keeps it. */
export type RequestContext = {
  readonly router: Router;
  readonly request: GraphqlRequest;
  readonly startedMs: number;
  caller: Caller;
  params?: RequestParams;
  prepared?: PreparedDocument;
  operation?: PreparedOperation;
  faults: readonly ApiFault[];
  errors: readonly Formatted[];
  rejection: string | null;
};

export const singleHeader = ({ headers }: GraphqlRequest, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
};
