import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import * as z from "zod";
import { routerNames } from "../../state/fault.ts";
import { journalEntrySchema } from "../../state/records.ts";
import * as fields from "../contract/fields.ts";
import { barsQuery, histogramOf } from "../contract/histogram.ts";
import { defineRoute } from "../contract/route.ts";
import { requestResults } from "../lists/series.ts";

const { atMs: _, ...entryFields } = journalEntrySchema.shape;
const result = z
  .enum(requestResults)
  .describe("`limited`: by a rate limit; `faulty`: with an injected fault, whatever its response.");
const request = z.object({ ...entryFields, at: fields.time, result });

const variables = z.record(z.string(), z.unknown());
const status = z.int().min(100).max(599);

const requestFilter = {
  operation: z.string().optional().describe("A top-level field, such as `createClient`."),
  operationName: z.string().optional(),
  router: routerNames.optional(),
  keyId: z.string().optional().describe("The API key or partner key."),
  workspaceId: z.string().optional(),
  code: z.string().optional().describe("Code of one of its errors, such as `RATE_LIMITED`."),
};

const after = z.int().min(0);
const aboutAfter = "Only those with a higher `sequence`.";
const aboutVariables = "Fields that the variables must have, at any depth; secrets are redacted.";

export const expectedRequests = z.strictObject({
  ...requestFilter,
  status: status.optional().describe("HTTP status of the response."),
  variables: variables.optional().describe(aboutVariables),
  after: after.optional().describe(aboutAfter),
  ...fields.expectedNumber,
  ...fields.waitLimit,
});

const listed = {
  ...requestFilter,
  status: fields.inQuery(status).optional(),
  variables: z
    .string()
    .transform((text, context): z.output<typeof variables> => {
      const parsed = variables.safeParse(jsonOrUndefined(text));
      if (parsed.success) return parsed.data;
      context.addIssue({ code: "custom", message: "expected a JSON object" });
      return z.NEVER;
    })
    .optional()
    .describe(`JSON. ${aboutVariables}`),
  after: fields.inQuery(after).optional().describe(aboutAfter),
  result: result.optional(),
  text: fields.searchText.optional(),
  ...fields.timeRange,
};

const requestDetail = request.extend({
  message: z
    .object({
      requestHeaders: fields.texts,
      responseHeaders: fields.texts,
      responseBody: z.string(),
      responseTruncated: z.boolean(),
    })
    .nullable()
    .describe("Headers and response, secrets redacted; `null` for all but the newest requests."),
});

export type RecordedRequest = z.output<typeof request>;
export type RequestFilter = Omit<z.output<typeof expectedRequests>, "count" | "times" | "timeoutMs">;
export type RequestDetail = z.output<typeof requestDetail>;
/** What a request must be like. */
export type ExpectedRequests = z.output<typeof expectedRequests>;

export const requestRoutes = {
  listRequests: defineRoute("GET /requests", {
    summary: "A page of the journal of GraphQL requests.",
    input: z.strictObject({ ...fields.listQuery, ...listed }),
    response: fields.pageOf(request),
  }),
  countRequests: defineRoute("GET /requests/histogram", {
    summary: "How many GraphQL requests of the journal were made per interval, by their result.",
    input: z.strictObject({ ...listed, ...barsQuery }),
    response: histogramOf(result),
  }),
  getRequest: defineRoute("GET /requests/{id}", {
    summary: "One GraphQL request, by its `sequence`, with its headers and response.",
    response: requestDetail,
  }),
  waitForRequests: defineRoute("POST /requests/wait", {
    summary:
      "Responds once enough matching requests were made, or with 408, the nearest ones and why they differ.",
    input: expectedRequests,
    response: fields.listOf(request),
  }),
};
