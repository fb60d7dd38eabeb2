import * as z from "zod";
import { checkOverride } from "../graphql/checks.ts";
import { found } from "../rules/service-error.ts";
import { overrideSchema } from "../state/override.ts";
import type { Override } from "../world/override-store.ts";
import type { WorldHolder } from "../world/world-holder.ts";
import { id, listOf } from "./fields.ts";
import { type ControlsOf, defineRoute } from "./route.ts";

const override = z.object({
  ...overrideSchema.shape,
  id,
  isFunction: z.boolean().describe("Whether a function of the test responds."),
  calls: z.int().describe("Requests that it has responded to."),
});

type OverrideView = z.output<typeof override>;

export const overrideRoutes = {
  addOverride: defineRoute("POST /overrides", {
    summary: "Responds to an operation in place of the service; the newest matching override counts.",
    input: overrideSchema,
    status: 201,
    response: override,
  }),
  listOverrides: defineRoute("GET /overrides", {
    summary: "All overrides, oldest first, used up ones included.",
    response: listOf(override),
  }),
  removeOverride: defineRoute("DELETE /overrides/{id}", { summary: "Removes an override." }),
  clearOverrides: defineRoute("DELETE /overrides", { summary: "Removes all overrides." }),
};

export function createOverrideControls(worlds: WorldHolder): ControlsOf<typeof overrideRoutes> {
  return {
    addOverride({ operation, data, patch, errors, ...options }) {
      const respond = { ...(data === undefined ? {} : { data }), patch, errors };
      checkOverride(worlds.current, operation, respond, options);
      const override = worlds.current.overrides.add({ ...options, operation, respond });
      worlds.current.emit({ type: "overrides.changed" });
      return viewOverride(override);
    },
    listOverrides: () => ({ data: worlds.current.overrides.list().map(viewOverride) }),
    removeOverride(overrideId) {
      const { overrides } = worlds.current;
      found(overrides.get(overrideId), `override "${overrideId}" not found`);
      overrides.remove(overrideId);
      worlds.current.emit({ type: "overrides.changed" });
    },
    clearOverrides() {
      worlds.current.overrides.clear();
      worlds.current.emit({ type: "overrides.changed" });
    },
  };
}

function viewOverride({ respond, ...override }: Override): OverrideView {
  const isFunction = typeof respond === "function";
  const view = { ...override, ...(isFunction ? {} : respond), isFunction };
  return JSON.parse(JSON.stringify(view)) as OverrideView;
}
