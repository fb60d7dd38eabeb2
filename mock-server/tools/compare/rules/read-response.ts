import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { type Evidence, fieldsOf, type ResponseShape, type Shape } from "../observe/observation.ts";
import type { Fact, Unknown } from "./rule.ts";

/** The value at a path such as `me.workspace.tasks.0.id`; `undefined` when there is none. */
export function at({ data }: ResponseShape, path: string): Shape | undefined {
  if (data === undefined) return undefined;
  return path.split(".").reduce<Shape | undefined>((value, name) => {
    if (Array.isArray(value)) return value[Number(name)];
    return fieldsOf(value)[name];
  }, data);
}

export function listAt(response: ResponseShape, path: string): readonly Shape[] | null {
  const list = at(response, path);
  return Array.isArray(list) ? (list as readonly Shape[]) : null;
}

/** The field of each item of a list. */
export const eachAt = (list: readonly Shape[], field: string): readonly (Shape | undefined)[] =>
  list.map((item) => fieldsOf(item)[field]);

export const hasErrors = ({ errors }: ResponseShape): boolean => (errors ?? []).length > 0;

/** How a request was rejected: code and message of its first error. */
export function rejectionOf(response: ResponseShape): Fact {
  const [error] = response.errors ?? [];
  if (error) return { code: error.code ?? "no code", message: error.message };
  if (response.body !== "graphql") return { status: response.status, body: response.body };
  return response.data === undefined || response.data === null || isAllNull(response.data)
    ? "null without an error"
    : "accepted";
}

const isAllNull = (data: Shape): boolean =>
  isPlainObject(data) && Object.values(data).every((value) => value === null);

/** `accepted`, or the kind of failure. */
export function outcomeOf(response: ResponseShape): string {
  if (response.body !== "graphql") return `HTTP ${response.status}, ${response.body}`;
  const [error] = response.errors ?? [];
  return error ? `rejected with ${error.code ?? "no code"}` : "accepted";
}

/** Milliseconds from the start of the run, of a value such as `date:+1200`. */
export function timeOf(value: Shape | undefined): number | null {
  const [, offset] = typeof value === "string" ? (/^date(?:-other)?:([+-]?\d+)$/.exec(value) ?? []) : [];
  return offset === undefined ? null : Number(offset);
}

/** What follows the tag, such as `admin` of `enum:admin`. */
export function wordOf(value: Shape | undefined): string | null {
  const [, word] = typeof value === "string" ? (/^(?:enum|word):(.*)$/.exec(value) ?? []) : [];
  return word ?? null;
}

/** The role of the key's user in the workspace, as `me` says it. */
export function roleOf(evidence: Evidence): string | null {
  const me = evidence.get("me.workspace");
  return me?.outcome === "response" ? wordOf(at(me.response, "me.role")) : null;
}

/** Reason for a rule that a failed request says nothing about. */
export const rejectedHere = (response: ResponseShape): Unknown => ({
  unknown: `the request was ${outcomeOf(response)}`,
});

/** An item without a time says nothing about the order. */
export const isNewestFirst = (times: readonly (number | null)[]): boolean =>
  times
    .filter((time) => time !== null)
    .every((time, index, known) => index === 0 || time <= (known[index - 1] ?? time));
