import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { GraphQLError, type GraphQLFormattedError } from "graphql";
import type { ServiceErrorCode } from "../errors.ts";
import type { Caller } from "../rules/identity.ts";
import { ServiceError } from "../rules/service-error.ts";
import type { ErrorReplacement } from "../settings/settings.ts";
import type { ApiFault, Router } from "../state/fault.ts";
import type { Hold } from "../time/virtual-clock.ts";
import type { World } from "../world/world.ts";
import type { PreparedDocument, PreparedOperation } from "./documents.ts";
import { isJson, type MediaType } from "./media-type.ts";

export interface GraphqlRequest {
  readonly method: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: RequestBody;
  /** Makes virtual time wait for the request. */
  readonly hold?: RequestHold | null | undefined;
}

type RequestHold = Pick<Hold, "pause" | "resume"> & { moveTo(clock: Clock): void };

/** The text, or what is wrong with its bytes. */
export type RequestBody = string | { readonly problem: "too-large" | "not-utf-8" };

/** @param bytes `null` for a body that is too large */
export function decodeBody(bytes: Uint8Array | null): RequestBody {
  if (!bytes) return { problem: "too-large" };
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return { problem: "not-utf-8" };
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What is known about one request; each step adds its result, the journal records all of it. */
export interface RequestContext {
  readonly world: World;
  readonly router: Router;
  readonly request: GraphqlRequest;
  readonly startedMs: number;
  caller: Caller;
  mediaType?: MediaType;
  params?: RequestParams;
  prepared?: PreparedDocument;
  operation?: PreparedOperation;
  /** Operations that an override responds to. */
  overridden?: readonly string[];
  faults: readonly ApiFault[];
  errors: readonly FormattedError[];
  rejection: string | null;
}

export const singleHeader = ({ headers }: GraphqlRequest, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
};

interface RequestParams {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>> | null | undefined;
  readonly operationName: string | null | undefined;
}

interface InvalidParams {
  readonly status: 400 | 415;
  readonly message: string;
}

/** Reads a POST request. @see https://graphql.github.io/graphql-over-http/draft/#sec-POST */
export function readRequestParams(
  contentType: string | undefined,
  body: string,
): RequestParams | InvalidParams {
  if (!isJson(contentType)) return { status: 415, message: "Content-Type must be application/json" };
  if (body === "") return invalid("Missing body");
  const params = jsonOrUndefined(body);
  if (params === undefined) return invalid("Unparsable JSON body");
  if (!isPlainObject(params)) return invalid("JSON body must be an object");
  const { query, variables, operationName, extensions } = params;
  if (query == null) return invalid("Missing query");
  if (typeof query !== "string") return invalid("Invalid query");
  if (variables != null && !isPlainObject(variables)) return invalid("Invalid variables");
  if (operationName != null && typeof operationName !== "string") return invalid("Invalid operationName");
  if (extensions != null && !isPlainObject(extensions)) return invalid("Invalid extensions");
  return { query, variables, operationName };
}

const invalid = (message: string): InvalidParams => ({ status: 400, message });

// What clients see of an error. A `ServiceError` keeps its message; a mistake in the document or its variables keeps
// that of graphql-js, without its suggestions, which would name fields although introspection is off (T3); anything
// else is a bug and becomes "Internal server error" (T6).

export type FormattedError = GraphQLFormattedError & { readonly extensions: { readonly code: string } };

/** @param codeOfMistakes for mistakes in the document or its variables that carry no code themselves */
export function formatError(error: GraphQLError, codeOfMistakes: ServiceErrorCode): FormattedError {
  const { originalError } = error;
  const where = { ...locationsOf(error), ...(error.path ? { path: error.path } : {}) };
  if (originalError instanceof ServiceError) {
    return { message: originalError.message, ...where, extensions: { code: originalError.code } };
  }
  if (originalError && !(originalError instanceof GraphQLError)) {
    return { message: "Internal server error", ...where, extensions: { code: "INTERNAL_SERVER_ERROR" } };
  }
  const given = error.extensions["code"];
  const code = typeof given === "string" ? given : codeOfMistakes;
  return { message: withoutSuggestion(error.message), ...where, extensions: { code } };
}

/** The error as the settings word it. */
export function withReplacement(
  error: FormattedError,
  replacements: readonly ErrorReplacement[],
): FormattedError {
  const { code } = error.extensions;
  const found = replacements.find((each) => each.code === code && each.message === error.message);
  if (!found) return error;
  const { replaceWith } = found;
  return {
    ...error,
    message: replaceWith.message ?? error.message,
    extensions: { ...error.extensions, code: replaceWith.code ?? code },
  };
}

function locationsOf(error: GraphQLError) {
  return error.locations ? { locations: error.locations } : {};
}

function withoutSuggestion(message: string): string {
  return message.replace(/ Did you mean .*\?$/s, "");
}

/** Why a request failed, for the journal: the service's reason, or what the client sees. */
export function reasonOf(error: GraphQLError): string {
  const { originalError } = error;
  if (originalError instanceof ServiceError) return originalError.reason ?? originalError.message;
  if (originalError && !(originalError instanceof GraphQLError)) {
    return `internal error: ${originalError.message}`;
  }
  return withoutValue(withoutSuggestion(error.message));
}

/** Errors about the type of a value quote it, and it may be a secret. */
export function withoutValue(message: string): string {
  return message.replace(/(?<=Variable "\$\w+" got invalid value).*|, found .*/s, "");
}
