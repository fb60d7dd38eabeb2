// Zod's issues in the words of this product: "expected …, got …", and a near name for one that is not known.

import { describeValue } from "@workspace-tasks/kernel/describe-value.ts";
import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import type { z } from "zod";
import type { MockServerIssue } from "../errors.ts";

export type SchemaResult<Output> =
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
