import * as z from "zod";
import { checkOverride } from "../graphql/checks.ts";
import { notFound } from "../rules/service-error.ts";
import { overrideSchema } from "../state/override.ts";
import type { Override } from "../world/override-store.ts";
import { id, listOf } from "./fields.ts";
import { defineRoute } from "./route.ts";

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
    run({ worlds }, { operation, data, patch, errors, ...options }) {
      const world = worlds.current;
      const respond = { ...(data === undefined ? {} : { data }), patch, errors };
      checkOverride(world, operation, respond, options);
      const override = world.overrides.add({ ...options, operation, respond });
      world.emit({ type: "overrides.changed" });
      return viewOverride(override);
    },
  }),
  listOverrides: defineRoute("GET /overrides", {
    summary: "All overrides, oldest first, used up ones included.",
    response: listOf(override),
    run: ({ worlds }) => ({ data: worlds.current.overrides.list().map(viewOverride) }),
  }),
  removeOverride: defineRoute("DELETE /overrides/{id}", {
    summary: "Removes an override.",
    run({ worlds }, overrideId) {
      const removed = worlds.current.overrides.remove(overrideId);
      if (!removed) throw notFound(`override "${overrideId}" not found`);
      worlds.current.emit({ type: "overrides.changed" });
    },
  }),
  clearOverrides: defineRoute("DELETE /overrides", {
    summary: "Removes all overrides.",
    run({ worlds }) {
      worlds.current.overrides.clear();
      worlds.current.emit({ type: "overrides.changed" });
    },
  }),
};

function viewOverride({ respond, ...override }: Override): OverrideView {
  const isFunction = typeof respond === "function";
  const view = { ...override, ...(isFunction ? {} : respond), isFunction };
  return JSON.parse(JSON.stringify(view)) as OverrideView;
}
