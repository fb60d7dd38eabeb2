// Arguments of a control call, checked before anything is sent or run: what HTTP could not transport is rejected in
// this process too. Without zod, which the client does not load.

import { describeValue } from "@workspace-tasks/kernel/describe-value.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { abortSignal, looseObject, optional, parse } from "@workspace-tasks/kernel/schema.ts";
import { checkJson, wrongArgument } from "../checks.ts";
import { MockServerError } from "../errors.ts";
import { controlCalls } from "../generated/control-calls.ts";
import type { CallOptions } from "./route.ts";

export type CallName = keyof typeof controlCalls;
export type CallInput = Readonly<Record<string, unknown>>;

export interface CallArguments {
  readonly ids: readonly string[];
  /** Texts for a query, any JSON for a body; `undefined` for a call without input. */
  readonly input: CallInput | undefined;
  readonly options: CallOptions | undefined;
}

/** @throws MockServerError ARGUMENT_INVALID for an id or a signal that is none, and a value that JSON cannot express */
export function readArguments(name: CallName, parameters: readonly unknown[]): CallArguments {
  const { idNames, kind } = shapes[name];
  const ids = idNames.map((idName, index) => idOf(name, idName, parameters[index]));
  const [first, second] = parameters.slice(ids.length);
  if (!kind) return { ids, input: undefined, options: toOptions(name, first) };
  const given = (first ?? {}) as CallInput;
  if (kind === "body") checkJson(name, given);
  const input = kind === "query" ? toQuery(name, given) : given;
  return { ids, input, options: toOptions(name, second) };
}

const callOptions = looseObject({ signal: optional(abortSignal) });

/** Anything but an object is none: `ids.map(control.getTask)` passes an index. */
function toOptions(name: string, options: unknown): CallOptions | undefined {
  if (!isPlainObject(options)) return undefined;
  return parse(callOptions, options, ({ message }) => {
    return new MockServerError("ARGUMENT_INVALID", `${name}: options: ${message}`);
  });
}

type Shape = { readonly idNames: readonly string[]; readonly kind: "query" | "body" | undefined };

const shapes = Object.fromEntries(
  Object.entries(controlCalls).map(([name, [call, kind]]): [string, Shape] => {
    const idNames = [...call.matchAll(/\{(\w+)\}/g)].map(([, idName = ""]) => idName);
    return [name, { idNames, kind }];
  }),
) as Readonly<Record<CallName, Shape>>;

function idOf(name: string, idName: string, id: unknown): string {
  const isId = (typeof id === "string" && id !== "") || Number.isFinite(id);
  if (!isId) throw wrongArgument(`${name}: ${idName}`, "an id", describeValue(id));
  return String(id);
}

function toQuery(name: string, input: CallInput): Record<string, string> {
  const entries = Object.entries(input).filter(([, value]) => value !== undefined);
  for (const [field, value] of entries) {
    const isText = typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
    if (!isText && !isPlainObject(value))
      throw wrongArgument(`${name}: ${field}`, "text, a number, true or false", describeValue(value));
    if (!isText) checkJson(`${name}: ${field}`, value);
  }
  return Object.fromEntries(
    entries.map(([field, value]) => [field, isPlainObject(value) ? JSON.stringify(value) : String(value)]),
  );
}
