import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { exitCodeOf } from "../../../../mock-server/tools/compare/report.ts";
import { rules as allRules } from "../../../../mock-server/tools/compare/rules/table.ts";
import {
  type Change,
  changing,
  type Exchange,
  eachObject,
  type Loose,
  withClaims,
} from "../../../support/changed-responses.ts";
import {
  compare,
  differencesIn,
  refutedIn,
  startComparedService,
} from "../../../support/compared-service.ts";

type Where = (exchange: Exchange) => boolean;

/** Another status or body of the responses to some requests. */
const respond =
  (where: Where, other: Partial<Pick<Exchange, "status" | "json">>): Change =>
  (exchange) =>
    void (where(exchange) && Object.assign(exchange, structuredClone(other)));

/** Another value of a field, in every object that has it; `undefined` removes it. */
const field =
  (
    name: string,
    value: unknown,
    where: (object: Loose, exchange: Exchange) => boolean = () => true,
  ): Change =>
  (exchange) =>
    eachObject(exchange.json.data, (object) => {
      if (!Object.hasOwn(object, name) || !where(object, exchange)) return;
      object[name] = typeof value === "function" ? value(object[name], object) : value;
      if (value === undefined) delete object[name];
    });

/** Another message, code or path of errors. */
const error =
  (where: (error: Loose, exchange: Exchange) => boolean, other: Loose): Change =>
  (exchange) => {
    for (const each of exchange.json.errors ?? [])
      if (where(each, exchange)) {
        const { code = each.extensions.code, ...fields } = other;
        Object.assign(each, fields, { extensions: { ...each.extensions, code, ...other.extensions } });
      }
  };
const says = (start: string) => (each: Loose) => each.message.startsWith(start);
const failed = (message: string, code: string, data?: Loose) => ({
  json: {
    ...(data === undefined ? {} : { data }),
    errors: [{ message, path: ["me"], extensions: { code } }],
  },
});

const claims = (edit: (claims: Loose) => Loose, where: Where, name = "workspaceToken") =>
  field(
    name,
    (token: string) => withClaims(token, edit),
    (_, exchange) => where(exchange),
  );

const entry =
  (name: string, edit: (entry: Loose) => void): Change =>
  (exchange) => {
    for (const each of exchange.json.data?.webhookEventCatalog ?? []) if (each.name === name) edit(each);
  };
const ofList = (noun: string, edit: (list: Loose[]) => Loose[], where: Where = () => true) =>
  field(
    noun,
    (list: Loose) => (Array.isArray(list) ? edit(list) : list),
    (_, exchange) => where(exchange),
  );
const created = (name: string, value: unknown) =>
  field(name, value, (object, { query }) => "url" in object && query.includes("createWebhookEndpoint("));
const updated = (name: string, value: unknown, where: (input: Loose) => boolean = () => true) =>
  field(name, value, (object, { query, input }) => {
    return "url" in object && query.includes("updateWebhookEndpoint(") && where(input);
  });

const isMe: Where = ({ query }) => query === "{ me { __typename } }";
const has =
  (text: string): Where =>
  (exchange) =>
    exchange.query.includes(text);

type Planted = Change | SettingsChanges;

// That every rule can be refuted is another test's: these are one or more of each kind of difference.
/** By the rule that names it: settings of the mock, or a change of its responses. */
const planted: Readonly<Record<string, Planted | readonly Planted[]>> = {
  "transport.get": respond(({ method }) => method === "GET", { status: 200 }),
  "transport.base-unknown-field": error(says("Cannot query"), {
    message: 'Cannot query field "mee". Did you mean "me"?',
  }),
  "transport.content-type": ({ headers }) => Object.assign(headers, { "content-type": "text/json" }),
  "errors.no-internals": error(says("Limit must"), {
    extensions: { stacktrace: ["at resolve (/srv/app/index.js:3:1)"] },
  }),
  "me.no-token": [
    respond((exchange) => isMe(exchange) && exchange.json.errors, { json: { data: { me: null } } }),
    error(({ extensions }) => extensions.code === "UNAUTHENTICATED", { code: "UNAUTHORIZED" }),
  ],
  "errors.null-field": [
    error(says("Unauthorized"), { path: undefined }),
    ({ json }) => void (json.errors && Object.assign(json, { data: null })),
  ],
  "tokens.workspace-claim": claims(({ workspaceId: _, ...rest }) => rest, has("userToken")),
  "drift.Me": [
    field("role", "owner"),
    field("name", null, (object) => "email" in object),
    field("emailHash", undefined),
    respond(has("novuHash"), failed('Cannot query field "novuHash"', "GRAPHQL_VALIDATION_FAILED")),
  ],
  "catalog.events": [
    ofList("webhookEventCatalog", (list) => [...list, { ...list[0], name: "task.cancelled" }]),
  ],
  "catalog.task.running": entry("task.running", (each) => Object.assign(each, { version: "3" })),
  "catalog.payload-documents.synced": entry("documents.synced", ({ payloadSchema: { properties } }) => {
    properties.files = properties.documents;
    delete properties.documents;
  }),
  "endpoints.done": field("iterator", "end", ({ done }) => done),
  "tasks.order": ofList("tasks", (list) => list.toReversed()),
  "tasks.offset": ofList(
    "tasks",
    ([first]) => [{ ...first, id: "other" }],
    ({ variables }) => variables.offset === 1,
  ),
  "drift.ListTasks": [
    field("status", "PAUSED", (object) => "subTasks" in object),
    field("__typename", "TaskBinderResult", (object) => object.__typename === "TaskTaxPrepResult"),
    field("attributes", null),
  ],
  "times.form": field("createdAt", (time: string) => time.replace(/\.\d+Z/, "Z")),
  "ids.form": field("id", (id: string) => id.replace(/^(.{14})7/, "$14")),
  "uploads.unknown": respond(({ method, status }) => method === "HEAD" && status === 404, { status: 410 }),
  "endpoints.create": [
    created("enabled", false),
    created("description", null),
    field("signingSecret", "c2VjcmV0"),
  ],
  "endpoints.duplicate-events": created("eventTypes", (list: Loose) => list?.toSorted() ?? null),
  "endpoints.loopback-url": { allowLoopbackHttp: false },
  "endpoints.updated-at": [
    updated("updatedAt", (_: unknown, { createdAt }: Loose) => createdAt),
    updated("createdAt", (_: unknown, { updatedAt }: Loose) => updatedAt),
  ],
  "endpoints.pause": updated("enabled", true, ({ enabled }) => enabled === false),
  "endpoints.rotate": field("signingSecret", "whsec_c2FtZQ==", (_, { query }) =>
    query.includes("rotateWebhookEndpointSecret("),
  ),
  "endpoints.delete": field("deleteWebhookEndpoint", false),
  "drift.UpdateWebhookEndpoint": updated("updatedAt", undefined),
  "errors.status": ["FORBIDDEN", "BAD_USER_INPUT"].map((code) =>
    respond(({ json }) => json.errors?.[0]?.extensions?.code === code, { status: 400 }),
  ),
};

/** What the interface says, by the rule that is refuted. */
const breaches: Readonly<Record<string, Change>> = {
  "catalog.events": ofList("webhookEventCatalog", (list) => list.slice(1)),
  "catalog.payload-task.failed": entry("task.failed", ({ payloadSchema }) => {
    delete payloadSchema.properties.customerError;
  }),
  "catalog.payload-task.running": entry("task.running", ({ payloadSchema }) => {
    payloadSchema.properties.event.type = "uuid";
  }),
  "endpoints.default-limit": ofList(
    "data",
    (list) => list.slice(0, 10),
    ({ query, variables }) => query.includes("ListWebhookEndpoints") && variables.limit === undefined,
  ),
  "endpoints.limit-0": error(says("Webhook"), { message: "The limit must be between 1 and 100" }),
  "endpoints.create-read-only": error(({ extensions }) => extensions.code === "FORBIDDEN", {
    code: "READ_ONLY",
  }),
  "tokens.wrong-key": respond(({ variables }) => variables.refreshToken?.endsWith("wrong-key"), {
    json: { data: { token: null } },
  }),
  "drift.ListWebhookEndpoints": field("enabled", null),
};

const cases = [
  ...Object.entries(planted).flatMap(([id, differences]) =>
    [differences].flat().map((difference) => ({ id, difference, isRefuted: false })),
  ),
  ...Object.entries(breaches).map(([id, difference]) => ({ id, difference, isRefuted: true })),
].map((each) => ({ ...each, says: allRules.find(({ id }) => id === each.id)?.says }));

describe("compare", () => {
  it.each(cases)("names $id, when it is not true that $says", async ({ id, difference, isRefuted }) => {
    const [settings, around] =
      typeof difference === "function" ? [{}, { around: changing(difference) }] : [difference, {}];
    await using service = await startComparedService(settings);
    const writes = allRules.some((rule) => rule.id === id && rule.needs === "writes");
    const report = await compare(service, { writes, ...around });
    expect(differencesIn(report)).toContain(id);
    if (isRefuted) expect([refutedIn(report), exitCodeOf(report)]).toEqual([expect.arrayContaining([id]), 1]);
    expect((await service.mock.control.listEndpoints()).data).toHaveLength(23);
  });
});
