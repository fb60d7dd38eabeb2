import * as z from "zod";
import { id, inQuery, listOf, searchText, time } from "../contract/fields.ts";
import { defineRoute } from "../contract/route.ts";

const searchHit = z.object({
  kind: z.enum(["task", "client", "delivery", "endpoint", "request"]),
  id,
  title: z.string(),
  detail: z.string(),
  at: time.nullable(),
  isId: z.boolean().describe("The text is its id, or that of its event."),
});

export type SearchHit = z.output<typeof searchHit>;

export const searchRoutes = {
  search: defineRoute("GET /search", {
    summary: "Tasks, clients, deliveries, endpoints and requests that contain a text, newest first.",
    input: z.strictObject({
      text: searchText,
      limit: inQuery(z.int().min(1).max(100)).optional().describe("Of each kind. Default: 6."),
    }),
    response: listOf(searchHit),
  }),
};
