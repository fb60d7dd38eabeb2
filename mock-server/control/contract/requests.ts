import { z } from "zod";
import { journalEntrySchema } from "../../state/journal-entry.ts";
import { listQuery, pageOf, time } from "./fields.ts";
import { defineRoute } from "./route.ts";

const { atMs: _, ...entryFields } = journalEntrySchema.shape;
const request = z.object({ ...entryFields, at: time });

export type RecordedRequest = z.output<typeof request>;

export const requestRoutes = {
  listRequests: defineRoute("GET /requests", {
    summary: "A page of the journal of GraphQL requests.",
    input: z.strictObject(listQuery),
    response: pageOf(request),
  }),
  getRequest: defineRoute("GET /requests/{id}", {
    summary: "One GraphQL request, by its `sequence`.",
    response: request,
  }),
};
