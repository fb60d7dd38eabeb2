import { dispose } from "@workspace-tasks/kernel/realm.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { checkOptions } from "./checks/check-options.ts";
import { MockServerError } from "./errors.ts";
import { checkOverride } from "./graphql/check-override.ts";
import type { OverrideOptions } from "./state/override.ts";
import { isOverrideResponse, type OverrideFunction, type OverrideResponse } from "./world/override-store.ts";
import type { WorldHolder } from "./world/world-holder.ts";

export interface OverrideHandle extends Disposable {
  readonly id: string;
  /** Requests that it has responded to. */
  readonly calls: number;
  /** Removes the override. Idempotent. */
  remove(): void;
}

const overrideOptions = s.strictOptions<OverrideOptions>()({
  router: s.optional(s.oneOf("base", "gateway")),
  keyId: s.optional(s.string),
  workspaceId: s.optional(s.string),
  variables: s.optional(s.object),
  times: s.optional(s.positiveInteger),
  invalid: s.optional(s.boolean),
});

const caller = "override";

/** `mock.override` of a world. */
export const createOverride =
  (worlds: WorldHolder) =>
  (
    operation: string,
    respond: OverrideResponse | OverrideFunction,
    options: OverrideOptions = {},
  ): OverrideHandle => {
    checkOptions(caller, options, overrideOptions);
    if (typeof respond !== "function" && !isOverrideResponse(respond)) {
      throw new MockServerError(
        "CONFIGURATION_INVALID",
        `${caller}: expected a function, { data }, { patch } or { errors } as the response`,
      );
    }
    const world = worlds.current;
    checkOverride(world, operation, typeof respond === "function" ? {} : respond, options);
    const { overrides } = world;
    const override = overrides.add({ ...options, operation, respond });
    const remove = () => void overrides.remove(override.id);
    return {
      id: override.id,
      get calls() {
        return override.calls;
      },
      remove,
      [dispose]: remove,
    };
  };
