import { describe, expect, it } from "vitest";
import type { SettingsChanges } from "workspace-tasks/mock-server";
import { allRules } from "../../../../mock-server/compare/catalogue/catalogue.ts";
import {
  type Change,
  changing,
  type Exchange,
  eachObject,
  type Loose,
  withClaims,
} from "../../../support/changed-responses.ts";
import { compare, refutedIn, startComparedService } from "../../../support/compared-service.ts";

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

const replaced = (code: string, message: string, replaceWith: object): SettingsChanges => ({
  errors: [{ code, message, replaceWith }],
});
const reworded = (message: string) => replaced("BAD_USER_INPUT", message, { message: "Invalid input" });
const notFound = (noun: string) => replaced("NOT_FOUND", `${noun} not found`, { code: "BAD_USER_INPUT" });

const claims = (edit: (claims: Loose) => Loose, where: Where, name = "workspaceToken") =>
  field(
    name,
    (token: string) => withClaims(token, edit),
    (_, exchange) => where(exchange),
  );
const living = (seconds: number) => (all: Loose) => ({ ...all, exp: all.iat + seconds });
const asksFor = (seconds: number) => (exchange: Exchange) => exchange.variables.expiresInSeconds === seconds;

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

/** HEAD with a token of the key that was exchanged last before it. */
const isMe: Where = ({ query }) => query === "{ me { __typename } }";
const isUpload: Where = ({ path, method }) => path.endsWith("/api/uploads") && method === "POST";
const has =
  (text: string): Where =>
  (exchange) =>
    exchange.query.includes(text);
const stage = (type: string) => ({ type, durationMs: 500 });

/** The rule that names it, the difference, and how the service does it: by settings of the mock, or by another response. */
const planted: readonly (readonly [string, string, Change | SettingsChanges])[] = [
  ["transport.get", "GET is served", respond(({ method }) => method === "GET", { status: 200 })],
  [
    "transport.malformed-json",
    "malformed JSON is a 500",
    respond(({ text }) => text === "{", { status: 500 }),
  ],
  ["transport.no-query", "no query is no error", respond(({ text }) => text === "{}", { status: 200 })],
  [
    "transport.wrong-type",
    "text/plain is taken",
    respond(({ contentType }) => contentType === "text/plain", { status: 200 }),
  ],
  [
    "transport.base-introspection",
    "introspection works",
    respond(has("__schema"), { json: { data: { __schema: { queryType: { name: "Query" } } } } }),
  ],
  [
    "transport.base-unknown-field",
    "errors suggest names",
    error(says("Cannot query"), { message: 'Cannot query field "mee". Did you mean "me"?' }),
  ],
  ["transport.syntax", "syntax errors have another code", error(says("Syntax"), { code: "BAD_REQUEST" })],
  [
    "transport.content-type",
    "text/json",
    ({ headers }) => Object.assign(headers, { "content-type": "text/json" }),
  ],
  [
    "errors.no-internals",
    "a stack trace",
    error(says("Limit must"), { extensions: { stacktrace: ["at resolve (/srv/app/index.js:3:1)"] } }),
  ],
  ["errors.unauthenticated-status", "401 for UNAUTHENTICATED", { unauthenticatedStatus: 401 }],
  ...["FORBIDDEN", "BAD_USER_INPUT"].map((code) => {
    const isCode: Where = ({ json }) => json.errors?.[0]?.extensions?.code === code;
    return ["errors.status", `400 for ${code}`, respond(isCode, { status: 400 })] as const;
  }),
  [
    "me.no-token",
    "me is null without an error",
    respond((exchange) => isMe(exchange) && exchange.json.errors, { json: { data: { me: null } } }),
  ],
  ["errors.null-field", "errors without a path", error(says("Unauthorized"), { path: undefined })],
  [
    "errors.null-field",
    "data is null",
    ({ json }) => void (json.errors && Object.assign(json, { data: null })),
  ],
  ["tokens.lifetime", "tokens live 300 s", { tokenLifetimeSeconds: 300 }],
  ["tokens.shorter", "expiresInSeconds is ignored", claims(living(180), asksFor(60))],
  ["tokens.clamped", "a long lifetime is not clamped", claims(living(86_400), asksFor(86_400))],
  ["tokens.zero-lifetime", "another message for 0", reworded("expiresInSeconds must be at least 1")],
  [
    "tokens.workspace-claim",
    "no claim workspaceId",
    claims(({ workspaceId: _, ...rest }) => rest, has("userToken")),
  ],
  [
    "tokens.wrong-key",
    "a wrong key has another message",
    replaced("UNAUTHENTICATED", "Invalid refresh token", { message: "Invalid API key" }),
  ],
  [
    "tokens.expired",
    "an expired token is accepted",
    respond(
      ({ json, authorization, ...exchange }) =>
        isMe({ json, authorization, ...exchange }) && json.errors && authorization.length > 200,
      { json: { data: { me: { __typename: "WorkspaceUser" } } } },
    ),
  ],
  [
    "me.no-token",
    "another code without a token",
    error(({ extensions }) => extensions.code === "UNAUTHENTICATED", { code: "UNAUTHORIZED" }),
  ],
  [
    "endpoints.read-only",
    "another message for FORBIDDEN",
    error(({ extensions }) => extensions.code === "FORBIDDEN", { message: "Forbidden" }),
  ],
  ["drift.Me", "an unknown role", field("role", "owner")],
  ["drift.Me", "a name is null", field("name", null, (object) => "email" in object)],
  ["drift.Me", "emailHash is not returned", field("emailHash", undefined)],
  ["drift.Me", "no milliseconds", field("createdAt", (time: string) => time.replace(/\.\d+Z/, "Z"))],
  [
    "drift.Me",
    "novuHash is not in the schema",
    respond(has("novuHash"), failed('Cannot query field "novuHash"', "GRAPHQL_VALIDATION_FAILED")),
  ],
  [
    "catalog.events",
    "an additional event",
    ofList("webhookEventCatalog", (list) => [...list, { ...list[0], name: "task.cancelled" }]),
  ],
  ["catalog.events", "an event is missing", ofList("webhookEventCatalog", (list) => list.slice(1))],
  [
    "catalog.task.running",
    "version 3",
    entry("task.running", (each) => Object.assign(each, { version: "3" })),
  ],
  [
    "catalog.documents.synced",
    "a status",
    entry("documents.synced", (each) => Object.assign(each, { status: "COMPLETED" })),
  ],
  [
    "catalog.task.failed",
    "a task type more",
    entry("task.failed", ({ taskTypes }) => taskTypes.push("FILING")),
  ],
  [
    "catalog.payload-documents.synced",
    "another list",
    entry("documents.synced", ({ payloadSchema: { properties } }) => {
      properties.files = properties.documents;
      delete properties.documents;
    }),
  ],
  [
    "catalog.payload-task.completed",
    "another type",
    entry("task.completed", (each) =>
      Object.assign(each.payloadSchema.properties.taskId, { type: "integer" }),
    ),
  ],
  ["endpoints.limit-101", "pages of at most 50", { bounds: { endpointPageItemsMax: 50 } }],
  [
    "endpoints.bad-iterator",
    "a bad iterator is accepted",
    respond(({ variables }) => variables.iterator === "not-an-iterator", { json: { data: { me: {} } } }),
  ],
  [
    "endpoints.bad-iterator",
    "a bad iterator has another code",
    replaced("BAD_USER_INPUT", "Invalid iterator", { code: "INVALID_CURSOR" }),
  ],
  ["endpoints.done", "an iterator on the last page", field("iterator", "end", ({ done }) => done)],
  [
    "endpoints.paging",
    "pages are in another order",
    ofList(
      "data",
      (list) => list.toReversed(),
      ({ variables }) => variables.limit === 100,
    ),
  ],
  ["drift.ListWebhookEndpoints", "enabled is text", field("enabled", "true")],
  ["tasks.order", "tasks are listed oldest first", ofList("tasks", (list) => list.toReversed())],
  ...["FAILED", undefined].map((status) => {
    const others = (list: Loose[]) => (status ? list.map((task) => ({ ...task, status })) : []);
    const isFiltered: Where = ({ variables }) => variables.filters?.statuses && !variables.filters.types;
    return [
      "tasks.filter-status",
      `the filter lists ${status}`,
      ofList("tasks", others, isFiltered),
    ] as const;
  }),
  ["tasks.default-limit", "10 by default", ofList("tasks", (list) => list.slice(0, 10), has("tasks {"))],
  [
    "tasks.filter-id",
    "the filter by id is ignored",
    ofList(
      "tasks",
      (list) => [...list, ...list],
      ({ variables }) => variables.filters?.ids,
    ),
  ],
  [
    "tasks.offset",
    "offset is ignored",
    ofList(
      "tasks",
      ([first]) => [{ ...first, id: "other" }],
      ({ variables }) => variables.offset === 1,
    ),
  ],
  ["drift.ListTasks", "a new task status", field("status", "PAUSED", (object) => "subTasks" in object)],
  [
    "drift.ListTasks",
    "an unknown result",
    field("__typename", "TaskBinderResult", (object) => object.__typename === "TaskTaxPrepResult"),
  ],
  ["drift.ListTasks", "attributes are null", field("attributes", null)],
  ["drift.ListClients", "taxYear is text", field("taxYear", "2025")],
  ["tasks.limit-101", "lists of at most 100", { bounds: { listItemsMax: 100 } }],
  ["tasks.limit-1001", "limit 1001 is accepted", { bounds: { listItemsMax: 5_000 } }],
  [
    "tasks.stages",
    "other stages",
    { tasks: { plans: { TAX_PREP: { mode: "timed", stages: [stage("intake"), stage("review")] } } } },
  ],
  [
    "clients.unknown",
    "an unknown client is an error",
    respond(
      ({ json }) => json.data?.me?.workspace?.client === null,
      failed("Client not found", "NOT_FOUND", {}),
    ),
  ],
  ["ids.form", "UUIDs of version 4", field("id", (id: string) => id.replace(/^(.{14})7/, "$14"))],
  [
    "uploads.options",
    "another path of uploads",
    respond(({ method }) => method === "OPTIONS", { status: 404 }),
  ],
  [
    "uploads.head-no-token",
    "an upload is found without a token",
    respond(({ method, authorization }) => method === "HEAD" && !authorization, { status: 404 }),
  ],
  [
    "uploads.unknown",
    "an unknown upload is a 410",
    respond(({ method, status }) => method === "HEAD" && status === 404, { status: 410 }),
  ],
  [
    "gateway.workspace-token",
    "the gateway rejects workspace tokens",
    respond(
      (exchange) => exchange.isGateway && isMe(exchange) && exchange.authorization !== "",
      failed("Unauthorized", "FORBIDDEN", { me: null }),
    ),
  ],
  ["partner.lifetime", "a partner's token lives an hour", claims(living(3_600), () => true, "accessToken")],
  [
    "partner.wrong-key",
    "the login has another code",
    replaced("UNAUTHENTICATED", "Invalid personal API token", { code: "BAD_USER_INPUT" }),
  ],
  [
    "gateway.base-operation",
    "the gateway serves the catalog",
    respond(({ isGateway, query }) => isGateway && query.includes("webhookEventCatalog"), {
      json: { data: { webhookEventCatalog: [] } },
    }),
  ],
  ["endpoints.create", "a new endpoint is disabled", created("enabled", false)],
  ["endpoints.create", "a missing description is null", created("description", null)],
  ["endpoints.create", "a secret without whsec_", field("signingSecret", "c2VjcmV0")],
  [
    "endpoints.duplicate-events",
    "event types are sorted",
    created("eventTypes", (list: Loose) => list?.toSorted() ?? null),
  ],
  ["endpoints.loopback-url", "loopback urls are rejected", { allowLoopbackHttp: false }],
  ["endpoints.http-url", "another message", reworded("Webhook endpoint url must be an HTTPS URL")],
  ["endpoints.no-events", "another message", reworded("At least one webhook event type is required")],
  ["endpoints.unknown-event", "another message", reworded("Unsupported webhook event type")],
  ["endpoints.update-nothing", "another message", reworded("At least one endpoint field must be updated")],
  [
    "endpoints.create-user-token",
    "another code for a userToken",
    error((_, { input }) => String(input.url).endsWith("/user"), { code: "UNAUTHENTICATED" }),
  ],
  [
    "endpoints.clear-description",
    "description null changes nothing",
    updated("description", "workspace-tasks compare", ({ description }) => description === null),
  ],
  [
    "endpoints.updated-at",
    "updatedAt does not move",
    updated("updatedAt", (_: unknown, { createdAt }: Loose) => createdAt),
  ],
  [
    "endpoints.updated-at",
    "createdAt moves",
    updated("createdAt", (_: unknown, { updatedAt }: Loose) => updatedAt),
  ],
  [
    "endpoints.pause",
    "enabled false is ignored",
    updated("enabled", true, ({ enabled }) => enabled === false),
  ],
  [
    "endpoints.update-nulls",
    "enabled null enables",
    updated("enabled", true, ({ enabled }) => enabled === null),
  ],
  [
    "endpoints.all-events",
    "eventTypes null is ignored",
    updated("eventTypes", ["documents.synced"], ({ eventTypes }) => eventTypes === null),
  ],
  ["endpoints.rotate-long", "a grace period of a day", { bounds: { secretGraceSecondsMax: 86_400 } }],
  [
    "endpoints.rotate",
    "a rotation keeps the secret",
    field("signingSecret", "whsec_c2FtZQ==", (_, { query }) =>
      query.includes("rotateWebhookEndpointSecret("),
    ),
  ],
  ["endpoints.delete", "a deletion returns false", field("deleteWebhookEndpoint", false)],
  ["endpoints.update-unknown", "another code", notFound("Webhook endpoint")],
  ["partner.collect-unknown", "another code", notFound("Provider connection")],
  ["partner.works-unknown", "another code", notFound("Connection job")],
  ["partner.artifacts-unknown", "another code", notFound("Job work")],
  ["partner.users-unknown", "another code", notFound("Workspace")],
  ["clients.tax-prep-unknown", "another code", notFound("Client")],
  [
    "routers.webhooks-on-gateway",
    "webhook operations exist on the gateway",
    respond(({ isGateway, query }) => isGateway && query.includes("mutation CreateWebhookEndpoint"), {
      json: { data: { __typename: "Query" } },
    }),
  ],
  [
    "drift.CreateJobWorks",
    "a field of a mutation is not in the schema",
    respond(
      ({ query }) => query.includes("Check") && query.includes("createJobWorks"),
      failed('Cannot query field "workId"', "GRAPHQL_VALIDATION_FAILED"),
    ),
  ],
  ["drift.UpdateWebhookEndpoint", "an endpoint without updatedAt", updated("updatedAt", undefined)],
  [
    "partner.users-read-only",
    "users are added by a read-only key",
    respond(
      ({ query, json }) => query.includes("addUsers") && json.errors?.[0].extensions.code === "FORBIDDEN",
      {
        json: { data: { addUsersToTheWorkspace: [] } },
      },
    ),
  ],
  ...(
    [
      ["create-read-only", 403],
      ["create-no-token", 401],
      ["no-length", 400],
    ] as const
  ).map(([name, status]) => {
    const where: Where = (exchange) => isUpload(exchange) && exchange.status === status;
    return [`uploads.${name}`, `${status} is a 201`, respond(where, { status: 201 })] as const;
  }),
];

const needsWrites = (id: string) =>
  allRules.some((rule) => rule.id === id && rule.send.some(({ permission }) => permission === "write"));

describe("a service with a planted difference", () => {
  it.each(planted)("is refuted by %s: %s", async (rule, _, difference) => {
    const [settings, around] =
      typeof difference === "function" ? [{}, changing(difference)] : [difference, undefined];
    await using service = await startComparedService({ settings, tasks: 25 });
    const permissions = needsWrites(rule) ? (["read", "write"] as const) : (["read"] as const);
    const report = await compare(service, { permissions, ...(around ? { around } : {}) });
    expect(refutedIn(report)).toContain(rule);
    expect((await service.mock.control.listEndpoints()).data).toHaveLength(4);
  });
});
