// What a response says besides its data, as a caller may print it: redacted, and limited in size.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { Redactor } from "../call/redactor.ts";
import type { ResponseHead } from "./fetch.ts";

export interface ResponseDetails {
  /** The service's name for the request: a header such as `x-request-id`, or `extensions.requestId`. */
  readonly requestId: string | undefined;
  /** Response headers by lower-case name, without cookies. */
  readonly headers: Readonly<Record<string, string>>;
  /** `extensions` of the GraphQL response. */
  readonly extensions: Readonly<Record<string, unknown>> | undefined;
}

const requestIdHeaders = ["x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid"];
const requestIdFields = ["requestId", "request_id"];
const entriesMax = 100;
const valuesMax = 1_000;
const depthMax = 6;

export function readResponseDetails(response: ResponseHead, redactor: Redactor): ResponseDetails {
  const { extensions } = response;
  return {
    requestId: requestIdOf(response, redactor),
    headers: readHeaders(response.headers, redactor),
    extensions: isPlainObject(extensions) ? readExtensions(extensions, redactor) : undefined,
  };
}

/** Found without a copy of the other details: events have it too. */
export function requestIdOf(
  { headers, extensions, errors }: ResponseHead,
  redactor: Redactor,
): string | undefined {
  for (const name of requestIdHeaders) {
    const value = headers.get(name);
    if (value) return redactor.text(value);
  }
  const [error] = Array.isArray(errors) ? errors : [];
  for (const source of [extensions, isPlainObject(error) ? error["extensions"] : undefined]) {
    const value = isPlainObject(source) && requestIdFields.map((name) => source[name]).find(isFilledText);
    if (value) return redactor.text(value);
  }
  return undefined;
}

export function readHeaders(headers: Headers, redactor: Redactor): Readonly<Record<string, string>> {
  const all: [name: string, value: string][] = [];
  headers.forEach((value, name) => {
    if (all.length >= entriesMax || /^set-cookie2?$/i.test(name)) return;
    all.push([name, redactor.text(value)]);
  });
  return Object.fromEntries(all);
}

/** A copy of the first values of `extensions`, of a response or of one of its errors. */
export function readExtensions(
  extensions: Readonly<Record<string, unknown>>,
  redactor: Redactor,
): Readonly<Record<string, unknown>> {
  let valuesLeft = valuesMax;
  const copy = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return redactor.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= depthMax) return undefined;
    const entries: [name: string, value: unknown][] = [];
    for (const [name, field] of Object.entries(value).slice(0, entriesMax)) {
      if (valuesLeft-- > 0) entries.push([redactor.text(name), copy(field, depth + 1)]);
    }
    return Array.isArray(value) ? entries.map(([, each]) => each) : Object.fromEntries(entries);
  };
  return copy(extensions, 0) as Readonly<Record<string, unknown>>;
}

function isFilledText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
