import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { isJson } from "./media-type.ts";

export interface RequestParams {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>> | null | undefined;
  readonly operationName: string | null | undefined;
}

export interface InvalidParams {
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
  let params: unknown;
  try {
    params = JSON.parse(body);
  } catch {
    return invalid("Unparsable JSON body");
  }
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
