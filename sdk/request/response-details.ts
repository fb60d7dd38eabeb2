// What a response says besides its data, as a caller may print it: redacted, and limited in size.

import type { Redactor } from "../call/redactor.ts";
import type { FetchHeaders } from "./fetch.ts";
import type { ResponseHead } from "./transport.ts";

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
const textLengthMax = 1_000;
const redactedLengthMax = 10_000;
const entriesMax = 100;
const depthMax = 6;

export function readResponseDetails(response: ResponseHead, redactor: Redactor): ResponseDetails {
  const { extensions } = response;
  return {
    requestId: requestIdOf(response, redactor),
    headers: readHeaders(response.headers, redactor),
    extensions: isRecord(extensions) ? readExtensions(extensions, redactor) : undefined,
  };
}

/** Found without a copy of the other details: events have it too. */
export function requestIdOf(
  { headers, extensions, errors }: ResponseHead,
  redactor: Redactor,
): string | undefined {
  for (const name of requestIdHeaders) {
    const value = headers.get(name);
    if (value) return shortText(value, redactor);
  }
  const [error] = Array.isArray(errors) ? errors : [];
  for (const source of [extensions, isRecord(error) ? error["extensions"] : undefined]) {
    const value = isRecord(source) && requestIdFields.map((name) => source[name]).find(isFilledText);
    if (value) return shortText(value, redactor);
  }
  return undefined;
}

export function readHeaders(headers: FetchHeaders, redactor: Redactor): Readonly<Record<string, string>> {
  const all: [name: string, value: string][] = [];
  headers.forEach?.((value, name) => {
    if (!/^set-cookie2?$/i.test(name)) all.push([name.toLowerCase(), shortText(value, redactor)]);
  });
  return Object.fromEntries(all.slice(0, entriesMax));
}

/** A copy of `extensions`, of a response or of one of its errors. */
export function readExtensions(
  extensions: Readonly<Record<string, unknown>>,
  redactor: Redactor,
): Readonly<Record<string, unknown>> {
  return copy(extensions, redactor, 0) as Readonly<Record<string, unknown>>;
}

function copy(value: unknown, redactor: Redactor, depth: number): unknown {
  if (typeof value === "string") return shortText(value, redactor);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= depthMax) return undefined;
  if (Array.isArray(value)) return value.slice(0, entriesMax).map((each) => copy(each, redactor, depth + 1));
  const fields = Object.entries(value).slice(0, entriesMax);
  return Object.fromEntries(
    fields.map(([name, field]) => [shortText(name, redactor), copy(field, redactor, depth + 1)]),
  );
}

// Redacted before it is cut: half of a secret would not be recognised.
function shortText(value: string, redactor: Redactor): string {
  return redactor.text(value.slice(0, redactedLengthMax)).slice(0, textLengthMax);
}

function isFilledText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
