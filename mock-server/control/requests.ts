import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import * as z from "zod";
import { difference, jsonDifferences } from "../checks.ts";
import { knownOperation } from "../graphql/checks.ts";
import { redactJson, redactVariables } from "../graphql/redaction.ts";
import { found } from "../rules/service-error.ts";
import { routerNames } from "../state/fault.ts";
import { type JournalEntry, journalEntrySchema } from "../state/records.ts";
import { waitTimeoutMs } from "../time/duration.ts";
import type { RoundTrip } from "../world/request-journal.ts";
import type { NumberedActivity } from "../world/world.ts";
import * as fields from "./fields.ts";
import {
  countByTime,
  createRangeFilter,
  createTextMatch,
  listPage,
  requestResults,
  type TimeRange,
} from "./lists.ts";
import { defineRoute } from "./route.ts";
import { waitForMatches } from "./wait-for-matches.ts";

const result = z
  .enum(requestResults)
  .describe("`limited`: by a rate limit; `faulty`: with an injected fault, whatever its response.");
const request = fields.shownSchema(journalEntrySchema).extend({ result });

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

const expectedRequests = z.strictObject({
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
    run: ({ worlds }, query = {}) =>
      listPage(worlds.current.journal.entries(), query, {
        positionOf: ({ sequence }) => sequence,
        matches: createRequestFilter(query),
        view: viewRequest,
      }),
  }),
  countRequests: defineRoute("GET /requests/histogram", {
    summary: "How many GraphQL requests of the journal were made per interval, by their result.",
    input: z.strictObject({ ...listed, ...fields.barsQuery }),
    response: fields.histogramOf(result),
    run({ worlds }, { bars, ...filter } = {}) {
      const items = worlds.current.journal
        .entries()
        .filter(createRequestFilter(filter))
        .map((entry) => ({ atMs: entry.atMs, series: resultOf(entry) }));
      return countByTime(items, requestResults, { ...filter, bars });
    },
  }),
  getRequest: defineRoute("GET /requests/{id}", {
    summary: "One GraphQL request, by its `sequence`, with its headers and response.",
    response: requestDetail,
    run({ worlds: { current } }, sequence) {
      const entry = found(
        current.journal.entries().find((entry) => String(entry.sequence) === sequence),
        `the journal has no request ${sequence}`,
      );
      return { ...viewRequest(entry), message: viewMessage(current.roundTrips.get(entry.sequence)) };
    },
  }),
  waitForRequests: defineRoute("POST /requests/wait", {
    summary:
      "Responds once enough matching requests were made, or with 408, the nearest ones and why they differ.",
    input: expectedRequests,
    response: fields.listOf(request),
    async run(
      { worlds: { current: world } },
      { count, times, timeoutMs = waitTimeoutMs, after = 0, ...filter } = {},
      options,
    ) {
      // With a misspelt operation a wait fails without its cause, and `times: 0` never does.
      if (filter.operation !== undefined) knownOperation(filter.operation, filter.router);
      const expectation = {
        noun: "request",
        items: () => world.journal.entries().filter(({ sequence }) => sequence > after),
        itemOf: ({ type, request }: NumberedActivity) =>
          type === "request.completed" ? (request as JournalEntry) : undefined,
        differences: (entry: JournalEntry) => differences(entry, { ...filter, after }),
        describe: describeRequest,
      };
      const limits = { timeoutMs, signal: options?.signal };
      const matching = await waitForMatches(world, expectation, { count, times }, limits);
      return { data: matching.map(viewRequest) };
    },
  }),
};

type ListFilter = Omit<RequestFilter, "status"> &
  TimeRange & {
    readonly status?: number | undefined;
    readonly result?: RecordedRequest["result"] | undefined;
    readonly text?: string | undefined;
  };

function createRequestFilter({
  result,
  text,
  from,
  to,
  ...filter
}: ListFilter): (entry: JournalEntry) => boolean {
  const contains = createTextMatch(text);
  const isInRange = createRangeFilter({ from, to });
  return (entry) =>
    isInRange(entry.atMs) &&
    (result === undefined || resultOf(entry) === result) &&
    differences(entry, filter).length === 0 &&
    (text === undefined || contains(...textsOfRequest(entry)));
}

function resultOf({ faults, rejection, errors, status }: JournalEntry): RecordedRequest["result"] {
  if (faults.length > 0) return "faulty";
  if (status === 429 || errors.some(({ code }) => code === "RATE_LIMITED")) return "limited";
  const isRejected = rejection !== null || errors.length > 0 || (status !== null && status >= 400);
  return isRejected ? "rejected" : "succeeded";
}

/** The texts that a search looks at. */
export const textsOfRequest = (entry: JournalEntry): readonly (string | null)[] => [
  entry.operationName,
  entry.query,
  entry.rejection,
  entry.keyId,
  entry.workspaceId,
  entry.variables === null ? null : JSON.stringify(entry.variables),
  ...entry.operations,
  ...entry.errors.flatMap(({ message, code }) => [message, code]),
];

function viewMessage(roundTrip: RoundTrip | undefined): RequestDetail["message"] {
  if (!roundTrip) return null;
  const { requestHeaders, responseHeaders, responseBody, isTruncated } = roundTrip;
  return {
    requestHeaders: redactHeaders(requestHeaders),
    responseHeaders: redactHeaders(responseHeaders),
    responseBody: redactJson(responseBody),
    responseTruncated: isTruncated,
  };
}

const redactHeaders = (headers: RoundTrip["requestHeaders"]) =>
  redactVariables(
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, [value ?? []].flat().join(", ")]),
    ),
    new Set(),
  ) as Record<string, string>;

function differences(entry: JournalEntry, filter: RequestFilter): readonly string[] {
  const { operation, operationName, router, keyId, workspaceId, status, code, variables, after = 0 } = filter;
  const hasOperation = operation === undefined || entry.operations.includes(operation);
  const codes = entry.errors.map((error) => error.code);
  const hasCode = code === undefined || codes.includes(code);
  return [
    ...(hasOperation ? [] : difference("operation", operation, entry.operations.join(", ") || undefined)),
    ...difference("operationName", operationName, entry.operationName),
    ...difference("router", router, entry.router),
    ...difference("keyId", keyId, entry.keyId),
    ...difference("workspaceId", workspaceId, entry.workspaceId),
    ...difference("status", status, entry.status),
    ...(hasCode ? [] : difference("code", code, codes.join(", ") || undefined)),
    ...jsonDifferences("variables", variables, entry.variables ?? {}),
    ...(entry.sequence > after ? [] : [`sequence: expected more than ${after}, got ${entry.sequence}`]),
  ];
}

function describeRequest({ sequence, operations, status, errors }: JournalEntry): string {
  const code = errors[0]?.code;
  return `#${sequence} ${operations.join(", ") || "no operation"} (${status ?? "cut"}${code ? ` ${code}` : ""})`;
}

/** A copy: callers may change what they get. */
const viewRequest = (entry: JournalEntry): RecordedRequest => ({
  ...structuredClone(fields.shown(entry) as Omit<RecordedRequest, "result">),
  result: resultOf(entry),
});
