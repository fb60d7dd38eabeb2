import { describeValue } from "@workspace-tasks/kernel/describe-value.ts";
import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import { isLoopbackHost, normaliseHost, withoutBrackets } from "@workspace-tasks/kernel/host.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { parse, refine, type Schema } from "@workspace-tasks/kernel/schema.ts";
import type { z } from "zod";
import { MockServerError, type MockServerIssue } from "./errors.ts";

/**
 * Validates options for JavaScript callers, unknown names included.
 * @param caller the function whose options they are, for the message
 * @throws MockServerError CONFIGURATION_INVALID for the first option that is wrong
 */
export function checkOptions<Options>(caller: string, options: unknown, schema: Schema<Options>): Options {
  return parse(schema, options, ({ messageWithValue }) => invalidOption(caller, "", messageWithValue));
}

/** @param place the option, or "" for all options together */
export const invalidOption = (caller: string, place: string, message: string) =>
  new MockServerError("CONFIGURATION_INVALID", `${caller}: ${place === "" ? "" : `${place}: `}${message}`);

/**
 * Rejects what `JSON.stringify` would drop, change or throw for.
 * @throws MockServerError ARGUMENT_INVALID
 */
export function checkJson(place: string, value: unknown, parents: readonly unknown[] = []): void {
  if (value === undefined || value === null || Number.isFinite(value)) return;
  if (typeof value === "string" || typeof value === "boolean") return;
  if (parents.includes(value)) throw wrongArgument(place, jsonValue, "an object that contains itself");
  if (typeof value === "object" && typeof Reflect.get(value, "toJSON") === "function") return;
  const isTree = Array.isArray(value) || Object.prototype.toString.call(value) === "[object Object]";
  if (!isTree) throw wrongArgument(place, jsonValue, describeValue(value));
  const path = [...parents, value];
  for (const [field, inner] of Object.entries(value as object)) {
    if (typeof inner === "string") continue;
    checkJson(`${place}${parents.length === 0 ? ": " : "."}${field}`, inner, path);
  }
}

const jsonValue = "a value that JSON can express";
export const wrongArgument = (place: string, expected: string, got: string) =>
  new MockServerError("ARGUMENT_INVALID", `${place}: expected ${expected}, got ${got}`);

export const urlOption = refine<string>(
  "a URL such as http://127.0.0.1:4010",
  (value) => typeof value === "string" && /^https?:\/\//i.test(value) && URL.canParse(value),
);

// Zod's issues in the words of this product: "expected …, got …", and a near name for one that is not known.

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues: null }
  | { readonly value: null; readonly issues: readonly MockServerIssue[] };

/** Checks a value. Names that are not known come first in `issues`: they usually explain the others. */
export function checkSchema<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): SchemaResult<z.output<Schema>> {
  // With messages of its own zod takes ten times as long, and most values are valid.
  const parsed = schema.safeParse(value);
  if (parsed.success) return { value: parsed.data, issues: null };
  const found = schema.safeParse(value, messages).error?.issues ?? parsed.error.issues;
  const issues = found.toSorted((a, b) => Number(isUnknownName(b)) - Number(isUnknownName(a)));
  return { value: null, issues: issues.map(({ path, message }) => ({ path: path.join("."), message })) };
}

const messages = { error: messageOf };

const isUnknownName = ({ code }: z.core.$ZodIssue) => code === "unrecognized_keys";

function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  const expected = expectationOf(issue);
  if (issue.code === "unrecognized_keys") return unknownName(issue);
  if (expected === undefined) return undefined;
  const { input } = issue;
  if (issue.code === "invalid_union" && issue.discriminator) {
    return `expected ${expected}, got ${describeField(input, String(issue.discriminator))}`;
  }
  return `expected ${expected}, got ${input === undefined ? "nothing" : describeValue(input)}`;
}

function expectationOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return typeNames[String(issue.expected)] ?? String(issue.expected);
    case "invalid_value":
      return alternatives(issue.values);
    case "invalid_union":
      return issue.discriminator
        ? alternatives((issue["options"] ?? []) as readonly unknown[])
        : alternativesOf(issue);
    case "too_small":
      return sizeOf(issue.origin, `at least ${issue.minimum}`);
    case "too_big":
      return sizeOf(issue.origin, `at most ${issue.maximum}`);
    case "invalid_format":
      return issue.format === "datetime" ? "a time such as 2026-01-31T12:00:00.000Z" : undefined;
    default:
      return undefined;
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "an array",
};

const alternatives = (values: readonly unknown[]) =>
  values.map((value) => JSON.stringify(value)).join(values.length === 2 ? " or " : ", ");

/** What the alternatives of a union expect, from their messages. */
function alternativesOf(issue: {
  readonly errors?: readonly (readonly z.core.$ZodIssue[])[];
}): string | undefined {
  const expectations = (issue.errors ?? []).map(
    ([first]) => /^expected (.*), got /.exec(first?.message ?? "")?.[1],
  );
  return expectations.includes(undefined) ? undefined : [...new Set(expectations)].join(" or ");
}

function sizeOf(origin: string, size: string): string {
  if (origin === "string") return `text of ${size} ${size.endsWith(" 1") ? "character" : "characters"}`;
  if (origin === "array") return `an array of ${size} ${size.endsWith(" 1") ? "item" : "items"}`;
  return `a number of ${size}`;
}

function unknownName({ keys, inst }: { readonly keys: readonly string[]; readonly inst?: unknown }): string {
  const shape = (inst as { readonly _zod?: { readonly def?: { readonly shape?: object } } } | undefined)?._zod
    ?.def?.shape;
  const known = Object.keys(shape ?? {});
  const [name = ""] = keys;
  const hint = didYouMean(name, known) || (known.length > 0 ? `; expected one of ${known.join(", ")}` : "");
  return `unknown field ${name}${hint}`;
}

function describeField(input: unknown, field: string): string {
  const value = typeof input === "object" && input !== null ? Reflect.get(input, field) : undefined;
  return value === undefined ? "nothing" : describeValue(value);
}

/** `operation: expected me, got createClient`, or nothing when the value is as expected. */
export function difference(place: string, expected: unknown, actual: unknown): readonly string[] {
  if (expected === undefined || Object.is(expected, actual)) return [];
  return [`${place}: expected ${shown(expected)}, got ${shown(actual)}`];
}

/** Differences of JSON: an expected object may lack fields, an expected list has all items. */
export function jsonDifferences(place: string, expected: unknown, actual: unknown): readonly string[] {
  if (expected === undefined) return [];
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const length = difference(`${place}.length`, expected.length, actual.length);
    if (length.length > 0) return length;
    return expected.flatMap((item, index) => jsonDifferences(`${place}.${index}`, item, actual[index]));
  }
  if (isPlainObject(expected) && isPlainObject(actual)) {
    return Object.entries(expected).flatMap(([field, value]) =>
      jsonDifferences(`${place}.${field}`, value, Object.hasOwn(actual, field) ? actual[field] : undefined),
    );
  }
  return difference(place, expected, actual);
}

/** Whether two values are the same as JSON; the order of fields makes no difference. */
export const isSameJson = (one: unknown, other: unknown): boolean =>
  jsonDifferences("", one, other).length + jsonDifferences("", other, one).length === 0;

const shown = (value: unknown) => (value === undefined ? "nothing" : describeValue(value));

/**
 * Whether a text is a complete HTTP URL as it stands. `new URL` repairs white space, line breaks, backslashes and missing
 * slashes; a stricter service rejects them. User info is rejected too: it is a secret that lists and journals would show.
 */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}\\/?#@]+(?:[/?#][^\s\p{Cc}\\]*)?$/iu.test(text) && URL.canParse(text);
}

export interface PlainHttpRules {
  readonly allowLoopbackHttp: boolean;
  readonly httpHostsAllowed: readonly string[];
}

/** Whether an endpoint may have this URL: HTTPS, or plain HTTP to this computer (A-6) and to hosts that are allowed. */
export const isReceiverUrl = (text: string, rules: PlainHttpRules): boolean =>
  isHttpUrl(text) && isDeliverable(new URL(text), rules);

/** Whether a delivery may go to a URL that an endpoint has, which it may have got under other rules. */
export function isDeliverable(
  { protocol, hostname }: Pick<URL, "protocol" | "hostname">,
  { allowLoopbackHttp, httpHostsAllowed }: PlainHttpRules,
): boolean {
  if (protocol === "https:" || (allowLoopbackHttp && isLoopbackHost(hostname))) return true;
  const name = withoutBrackets(hostname);
  return httpHostsAllowed.some((host) => normaliseHost(host) === name);
}

/** A signing secret: the prefix of Standard Webhooks, then base64. */
export const secretForm = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
