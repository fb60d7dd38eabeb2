// Responses that a test gives instead of the service. They belong to the test and not to the state: a reset and the
// restoring of a snapshot remove them.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { checkJson, checkOptions, invalidOption, jsonDifferences } from "../checks.ts";
import type { Router } from "../state/fault.ts";
import type { OverrideError, OverrideOptions } from "../state/override.ts";

/** What an override responds with. */
export interface OverrideResponse {
  /** The value of the operation; only what the request selects of it is sent. */
  readonly data?: unknown;
  /** Merged into the real response. */
  readonly patch?: Readonly<Record<string, unknown>> | undefined;
  readonly errors?: readonly OverrideError[] | undefined;
}

/** Whether a value that a test gives has at least one of the fields of a response. */
export const isOverrideResponse = (value: unknown): value is OverrideResponse =>
  isPlainObject(value) && ["data", "patch", "errors"].some((name) => value[name] !== undefined);

const responseFields = s.strictOptions<OverrideResponse>()({
  data: s.anything,
  patch: s.optional(s.object),
  errors: s.optional(
    s.nonEmptyArray(
      s.strictOptions<OverrideError>()({
        message: s.string,
        code: s.optional(s.string),
        path: s.optional(s.array(s.anything)),
      }),
    ),
  ),
});

/**
 * Checks what no request could be answered with.
 * @throws MockServerError ARGUMENT_INVALID for what JSON cannot express, CONFIGURATION_INVALID for a wrong field
 */
export function checkResponse(place: string, response: OverrideResponse): void {
  checkJson(place, response);
  const { data, patch } = checkOptions(place, response, responseFields);
  if (data !== undefined && patch) throw invalidOption(place, "", "expected data or patch, got both");
}

/** One request that an override responds to. */
export interface OverriddenCall {
  readonly operation: string;
  readonly operationName: string | null;
  /** Arguments of the field, checked by the schema. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly keyId: string | null;
  readonly workspaceId: string | null;
  /** 1 for the first request that this override responds to. */
  readonly count: number;
  /** Runs the operation, with its effects, and resolves with what it would have responded. */
  original(): Promise<unknown>;
}

export type OverrideFunction = (call: OverriddenCall) => OverrideResponse | Promise<OverrideResponse>;

export interface Override extends OverrideOptions {
  readonly id: string;
  readonly operation: string;
  readonly respond: OverrideResponse | OverrideFunction;
  /** Requests that it has responded to. */
  readonly calls: number;
}

export interface OverrideTarget {
  readonly operation: string;
  readonly router: Router;
  readonly keyId: string | null;
  readonly workspaceId: string | null;
  readonly variables: unknown;
}

export interface OverrideStore {
  readonly size: number;
  add(override: Omit<Override, "id" | "calls">): Override;
  list(): readonly Override[];
  remove(id: string): boolean;
  clear(): void;
  /** The newest one that matches and has responses left; counts it. */
  take(target: OverrideTarget): Override | null;
}

export function createOverrideStore(): OverrideStore {
  const overrides = new Map<string, Override & { calls: number }>();
  let counter = 0;
  return {
    get size() {
      return overrides.size;
    },
    add(given) {
      const override = { ...given, id: String(++counter), calls: 0 };
      overrides.set(override.id, override);
      return override;
    },
    list: () => [...overrides.values()],
    remove: (id) => overrides.delete(id),
    clear: () => overrides.clear(),
    take(target) {
      const override = [...overrides.values()].findLast((each) => matches(each, target));
      if (!override) return null;
      override.calls++;
      return override;
    },
  };
}

function matches(override: Override, target: OverrideTarget): boolean {
  const { operation, router, keyId, workspaceId, variables, times, calls } = override;
  return (
    operation === target.operation &&
    (times === undefined || calls < times) &&
    (router === undefined || router === target.router) &&
    (keyId === undefined || keyId === target.keyId) &&
    (workspaceId === undefined || workspaceId === target.workspaceId) &&
    jsonDifferences("variables", variables, target.variables ?? {}).length === 0
  );
}
