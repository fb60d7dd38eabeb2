import { z } from "zod";
import { listQuery, pageOf, time } from "./fields.ts";
import { defineRoute } from "./route.ts";

export const requestView = z.object({
  sequence: z.int(),
  at: time,
  router: z.enum(["base", "gateway"]),
  operationName: z.string().nullable(),
  operations: z.array(z.string()).describe("Top-level fields; empty when the document was not valid."),
  query: z.string().nullable(),
  variables: z.unknown().describe("Keys and tokens are redacted."),
  caller: z.enum(["anonymous", "user", "member", "partner"]),
  keyId: z.string().nullable(),
  userId: z.string().nullable(),
  workspaceId: z.string().nullable(),
  sourcePlatform: z.string().nullable(),
  status: z.int().nullable().describe("`null` when the connection was cut instead."),
  errors: z.array(
    z.object({ message: z.string(), code: z.string().nullable(), path: z.string().nullable() }),
  ),
  rejection: z.string().nullable().describe("Why it was rejected, in more words than the caller was told."),
  faults: z.array(z.string()),
  durationMs: z.number(),
});

export const requestRoutes = [
  defineRoute({
    method: "GET",
    path: "/requests",
    summary: "Journal of GraphQL requests, oldest first.",
    query: z.strictObject(listQuery),
    answer: pageOf(requestView),
    run: (admin, { query }) => admin.requests(query),
  }),
];
