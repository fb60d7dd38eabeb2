import * as z from "zod";
import { overrideSchema } from "../../state/override.ts";
import { id, listOf } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";

const override = z.object({
  ...overrideSchema.shape,
  id,
  isFunction: z.boolean().describe("Whether a function of the test responds."),
  calls: z.int().describe("Requests that it has responded to."),
});

export type OverrideView = z.output<typeof override>;

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
