import type { SettingsChanges } from "workspace-tasks/mock-server";
import type { KeyName } from "../../mock-server/compare/plan/probe.ts";

// biome-ignore lint/suspicious/noExplicitAny: a planted difference reaches into responses of every shape
type Loose = any;

type Send = (url: string, init: RequestInit) => Promise<Response>;

export interface WireResponse {
  status: number;
  readonly headers: Record<string, string>;
  /** `data` and `errors`. */
  json: Loose;
}

export interface WireRequest {
  readonly query: string;
  readonly variables: Loose;
  readonly isGateway: boolean;
  readonly path: string;
  readonly method: string;
  readonly contentType: string | undefined;
  readonly authorization: string | undefined;
  readonly text: string;
  readonly keys: Readonly<Record<KeyName, string>>;
}

/** A server that is wrong in one detail: a proxy in front of a mock that changes one thing. */
export type Change = (response: WireResponse, request: WireRequest) => void;

export const changing =
  (change: Change, keys: WireRequest["keys"]) =>
  (send: Send): Send =>
  async (url, init) => {
    const response = await send(url, init);
    const headers = new Headers(init.headers);
    const text = typeof init.body === "string" ? init.body : "";
    const body = parse(text);
    const received = await response.text();
    const wire: WireResponse = {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      json: parse(received) ?? {},
    };
    change(wire, {
      query: String(body?.query ?? ""),
      variables: body?.variables ?? {},
      isGateway: url.includes("/gateway/"),
      path: new URL(url).pathname,
      method: init.method ?? "GET",
      contentType: headers.get("content-type") ?? undefined,
      authorization: headers.get("authorization") ?? undefined,
      text,
      keys,
    });
    const isEmpty = received === "" || wire.status === 204;
    return new Response(isEmpty ? null : JSON.stringify(wire.json), {
      status: wire.status,
      headers: wire.headers,
    });
  };

const parse = (text: string): Loose => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

export interface Planted {
  readonly name: string;
  readonly change?: Change;
  readonly settings?: SettingsChanges;
  /** Tasks that the service has besides. */
  readonly tasks?: number;
  /** The rule that names it. */
  readonly rule: string;
}

/** Visits every object of the data. */
function each(value: Loose, visit: (object: Loose) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) visit(value);
  for (const inner of Object.values(value)) each(inner, visit);
}

const inData =
  (visit: (object: Loose) => void): Change =>
  ({ json }) =>
    each(json.data, visit);

/** Changes the first error where the request or the message matches. */
const error =
  (matches: (error: Loose, request: WireRequest) => boolean, edit: (error: Loose) => void): Change =>
  ({ json }, request) => {
    const [first] = json.errors ?? [];
    if (first && matches(first, request)) edit(first);
  };

const message = (text: string, edit: (error: Loose) => void) =>
  error((each) => String(each.message).startsWith(text), edit);

const tokens =
  (edit: (tokens: Loose, variables: Loose) => void): Change =>
  ({ json }, { variables }) => {
    const issued = json.data?.exchangeSurfaceRefreshTokenForAccessTokens;
    if (issued) edit(issued, variables);
  };

function withClaims(token: string, edit: (claims: Loose) => void): string {
  const [head = "", payload = "", ...rest] = token.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
  edit(claims);
  return [head, Buffer.from(JSON.stringify(claims)).toString("base64url"), ...rest].join(".");
}

const catalogEntry =
  (name: string, edit: (entry: Loose) => void): Change =>
  ({ json }) => {
    const entry = json.data?.webhookEventCatalog?.find((each: Loose) => each.name === name);
    if (entry) edit(entry);
  };

const workspace =
  (edit: (workspace: Loose, request: WireRequest) => void): Change =>
  ({ json }, request) => {
    const found = json.data?.me?.workspace;
    if (found) edit(found, request);
  };

/** Changes the status of HEAD requests that follow the exchange of a key. */
function headStatus(key: KeyName, status: number): Change {
  const tokens = new Set<string>();
  return (response, { method, authorization, variables, keys }) => {
    const issued = response.json.data?.exchangeSurfaceRefreshTokenForAccessTokens;
    if (issued && variables.refreshToken === keys[key]) tokens.add(`Bearer ${issued.workspaceToken}`);
    if (method === "HEAD" && tokens.has(authorization ?? "")) response.status = status;
  };
}

/** Changes the status of the creation of an upload. */
const uploadStatus =
  (from: number, to: number): Change =>
  (response, { path, method }) => {
    if (path.endsWith("/api/uploads") && method === "POST" && response.status === from) response.status = to;
  };

const type = (object: Loose, ...fields: string[]) => fields.every((field) => field in object);

/** Differences that read-only probes can see. */
export const plantedReads: readonly Planted[] = [
  {
    name: "GET is served",
    rule: "transport.get",
    change: (response, { method }) => {
      if (method === "GET") response.status = 200;
    },
  },
  {
    name: "malformed JSON is a server error",
    rule: "transport.malformed-json",
    change: (response, { text }) => {
      if (text === "{") response.status = 500;
    },
  },
  {
    name: "a missing query is no error",
    rule: "transport.no-query",
    change: (response, { text }) => {
      if (text === "{}") response.status = 200;
    },
  },
  {
    name: "text/plain is taken",
    rule: "transport.wrong-type",
    change: (response, { contentType }) => {
      if (contentType === "text/plain") response.status = 200;
    },
  },
  {
    name: "introspection works",
    rule: "transport.base-introspection",
    change(response, { query, isGateway }) {
      if (query.includes("__schema") && !isGateway)
        response.json = { data: { __schema: { queryType: { name: "Query" } } } };
    },
  },
  {
    name: "errors suggest names",
    rule: "transport.base-unknown-field",
    change: message('Cannot query field "mee"', (each) => {
      each.message += ' Did you mean "me"?';
    }),
  },
  {
    name: "syntax errors have another code",
    rule: "transport.syntax",
    change: message("Syntax Error", (each) => {
      each.extensions.code = "BAD_REQUEST";
    }),
  },
  {
    name: "another content type",
    rule: "transport.content-type",
    change: ({ headers }) => {
      headers["content-type"] = "text/json";
    },
  },
  {
    name: "a stack trace",
    rule: "errors.no-internals",
    change: message("Limit must", (each) => {
      each.extensions.stacktrace = ["Error: x", "at resolve (/srv/app/index.js:3:1)"];
    }),
  },
  {
    name: "401 for UNAUTHENTICATED",
    rule: "errors.unauthenticated-status",
    settings: { unauthenticatedStatus: 401 },
  },
  {
    name: "403 for FORBIDDEN",
    rule: "errors.status",
    change: (response) => {
      if (response.json.errors?.[0]?.extensions?.code === "FORBIDDEN") response.status = 403;
    },
  },
  {
    name: "400 for BAD_USER_INPUT",
    rule: "errors.status",
    change: (response) => {
      if (response.json.errors?.[0]?.extensions?.code === "BAD_USER_INPUT") response.status = 400;
    },
  },
  {
    name: "me is null without an error",
    rule: "me.no-token",
    change(response, { query }) {
      if (query === "{ me { __typename } }" && response.json.errors) response.json = { data: { me: null } };
    },
  },
  {
    name: "errors without a path",
    rule: "errors.null-field",
    change: message("Unauthorized", (each) => {
      delete each.path;
    }),
  },
  {
    name: "data is null as a whole",
    rule: "errors.null-field",
    change: ({ json }) => {
      if (json.errors && "data" in json) json.data = null;
    },
  },
  { name: "tokens live 300 s", rule: "tokens.lifetime", settings: { tokenLifetimeSeconds: 300 } },
  {
    name: "expiresInSeconds is ignored",
    rule: "tokens.shorter",
    change: tokens((issued, { expiresInSeconds }) => {
      if (expiresInSeconds === 60)
        issued.workspaceToken = withClaims(issued.workspaceToken, (claims) => {
          claims.exp = claims.iat + 180;
        });
    }),
  },
  {
    name: "a long lifetime is not clamped",
    rule: "tokens.clamped",
    change: tokens((issued, { expiresInSeconds }) => {
      if (expiresInSeconds === 86_400)
        issued.workspaceToken = withClaims(issued.workspaceToken, (claims) => {
          claims.exp = claims.iat + 86_400;
        });
    }),
  },
  {
    name: "expiresInSeconds 0 has another message",
    rule: "tokens.zero-lifetime",
    settings: {
      errors: [
        {
          code: "BAD_USER_INPUT",
          message: "expiresInSeconds must be at least 1",
          replaceWith: { message: "Invalid expiry" },
        },
      ],
    },
  },
  {
    name: "the claim workspaceId is absent",
    rule: "tokens.workspace-claim",
    change: tokens((issued) => {
      issued.workspaceToken = withClaims(issued.workspaceToken, (claims) => {
        delete claims.workspaceId;
      });
    }),
  },
  {
    name: "a wrong key has another message",
    rule: "tokens.wrong-key",
    settings: {
      errors: [
        {
          code: "UNAUTHENTICATED",
          message: "Invalid refresh token",
          replaceWith: { message: "Invalid API key" },
        },
      ],
    },
  },
  {
    name: "a revoked key is told apart",
    rule: "tokens.revoked-key",
    change: error(
      (_, { query, variables, keys }) =>
        query.includes("ExchangeApiKey") && variables.refreshToken === keys.revoked,
      (each) => {
        each.message = "API key was revoked";
      },
    ),
  },
  {
    name: "an expired token is accepted",
    rule: "tokens.expired",
    change: ({ json }, { query, authorization }) => {
      if (
        query === "{ me { __typename } }" &&
        authorization !== undefined &&
        json.errors &&
        !authorization.includes("eyJleHAiOjEwMDAwMDAwMDB9")
      ) {
        delete json.errors;
        json.data = { me: { __typename: "WorkspaceUser" } };
      }
    },
  },
  {
    name: "another code without a token",
    rule: "me.no-token",
    change: message("Unauthorized", (each) => {
      if (each.extensions.code === "UNAUTHENTICATED") each.extensions.code = "UNAUTHORIZED";
    }),
  },
  {
    name: "another message for FORBIDDEN",
    rule: "endpoints.read-only",
    change: message("Unauthorized", (each) => {
      if (each.extensions.code === "FORBIDDEN") each.message = "Forbidden";
    }),
  },
  {
    name: "an unknown role",
    rule: "drift.Me",
    change: inData((object) => {
      if (type(object, "role", "createdAt")) object.role = "owner";
    }),
  },
  {
    name: "a name is null",
    rule: "drift.Me",
    change: inData((object) => {
      if (type(object, "name", "email")) object.name = null;
    }),
  },
  {
    name: "emailHash is not returned",
    rule: "drift.Me",
    change: inData((object) => {
      delete object.emailHash;
    }),
  },
  {
    name: "createdAt without milliseconds",
    rule: "drift.Me",
    change: inData((object) => {
      if (type(object, "role", "createdAt")) object.createdAt = object.createdAt.replace(/\.\d+Z/, "Z");
    }),
  },
  {
    name: "the field novuHash is removed from the schema",
    rule: "drift.Me",
    change(response, { query }) {
      if (query.includes("novuHash"))
        response.json = {
          errors: [
            {
              message: 'Cannot query field "novuHash" on type "UserShortDetails".',
              extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
            },
          ],
        };
    },
  },
  {
    name: "an additional event",
    rule: "catalog.events",
    change: ({ json }) => {
      const list = json.data?.webhookEventCatalog;
      if (list) list.push({ ...list[0], name: "task.cancelled" });
    },
  },
  {
    name: "an event is missing",
    rule: "catalog.events",
    change: ({ json }) => {
      json.data?.webhookEventCatalog?.pop();
    },
  },
  {
    name: "another version",
    rule: "catalog.task.running",
    change: catalogEntry("task.running", (entry) => {
      entry.version = "3";
    }),
  },
  {
    name: "documents.synced has a status",
    rule: "catalog.documents.synced",
    change: catalogEntry("documents.synced", (entry) => {
      entry.status = "COMPLETED";
    }),
  },
  {
    name: "a task type more",
    rule: "catalog.task.failed",
    change: catalogEntry("task.failed", (entry) => {
      entry.taskTypes = [...entry.taskTypes, "TAX_FILING"];
    }),
  },
  {
    name: "the payload has another list of documents",
    rule: "catalog.payload-documents.synced",
    change: catalogEntry("documents.synced", (entry) => {
      entry.payloadSchema.properties.files = entry.payloadSchema.properties.documents;
      delete entry.payloadSchema.properties.documents;
    }),
  },
  {
    name: "a payload property has another type",
    rule: "catalog.payload-task.completed",
    change: catalogEntry("task.completed", (entry) => {
      entry.payloadSchema.properties.taskId = { type: "integer" };
    }),
  },
  {
    name: "endpoint pages have at most 50",
    rule: "endpoints.limit-101",
    settings: { bounds: { endpointPageItemsMax: 50 } },
  },
  {
    name: "a bad iterator is accepted",
    rule: "endpoints.bad-iterator",
    change(response, { variables }) {
      if (variables.iterator === "not-an-iterator")
        response.json = {
          data: {
            me: {
              __typename: "WorkspaceUser",
              workspace: { webhookEndpoints: { data: [], done: true, iterator: null } },
            },
          },
        };
    },
  },
  {
    name: "a bad iterator has another code",
    rule: "endpoints.bad-iterator",
    settings: {
      errors: [
        { code: "BAD_USER_INPUT", message: "Invalid iterator", replaceWith: { code: "INVALID_CURSOR" } },
      ],
    },
  },
  {
    name: "iterator is not null on the last page",
    rule: "endpoints.done",
    change: inData((object) => {
      if (object.done === true) object.iterator = "end";
    }),
  },
  {
    name: "pages repeat an endpoint",
    rule: "endpoints.paging",
    change: workspace((found, { variables }) => {
      if (variables.limit === 1 && variables.iterator) found.webhookEndpoints.data = [firstEndpoint.value];
      else if (found.webhookEndpoints) firstEndpoint.value = found.webhookEndpoints.data[0];
    }),
  },
  {
    name: "enabled is text",
    rule: "drift.ListWebhookEndpoints",
    change: inData((object) => {
      if ("enabled" in object) object.enabled = "true";
    }),
  },
  {
    name: "tasks are listed oldest first",
    rule: "tasks.order",
    change: workspace((found) => {
      found.tasks?.reverse();
    }),
  },
  {
    name: "the filter by status is ignored",
    rule: "tasks.filter-status",
    change: workspace((found, { variables }) => {
      if (variables.filters?.statuses && !variables.filters.types)
        for (const task of found.tasks) task.status = "FAILED";
    }),
  },
  {
    name: "the filter by status finds nothing",
    rule: "tasks.filter-status",
    change: workspace((found, { variables }) => {
      if (variables.filters?.statuses) found.tasks = [];
    }),
  },
  {
    name: "a list of tasks has 10 by default",
    rule: "tasks.default-limit",
    tasks: 25,
    change: workspace((found, { query }) => {
      if (query.includes("tasks {")) found.tasks = found.tasks.slice(0, 10);
    }),
  },
  {
    name: "uploads have another path",
    rule: "uploads.options",
    change: (response, { method }) => {
      if (method === "OPTIONS") response.status = 404;
    },
  },
  {
    name: "a read-only key may not ask for an upload",
    rule: "uploads.head-read-only",
    change: headStatus("readOnly", 403),
  },
  {
    name: "an unknown upload is a 410",
    rule: "uploads.unknown",
    change: headStatus("admin", 410),
  },
  {
    name: "an upload is found without a token",
    rule: "uploads.head-no-token",
    change: (response, { method, authorization }) => {
      if (method === "HEAD" && !authorization) response.status = 404;
    },
  },
  {
    name: "the filter by id is ignored",
    rule: "tasks.filter-id",
    change: workspace((found, { variables }) => {
      if (variables.filters?.ids && found.tasks[0]) found.tasks = [found.tasks[0], { ...found.tasks[0] }];
    }),
  },
  {
    name: "offset is ignored",
    rule: "tasks.offset",
    change: workspace((found, { variables }) => {
      if (!found.tasks) return;
      if (variables.offset === 1) found.tasks = [firstTask.value];
      else if (variables.limit === 20) firstTask.value = found.tasks[0];
    }),
  },
  {
    name: "a new task status",
    rule: "drift.ListTasks",
    change: workspace((found) => {
      for (const task of found.tasks ?? []) if (task.status) task.status = "PAUSED";
    }),
  },
  {
    name: "an unknown task result",
    rule: "drift.ListTasks",
    change: inData((object) => {
      if (object.__typename === "TaskTaxPrepResult") object.__typename = "TaskBinderResult";
    }),
  },
  {
    name: "attributes are null",
    rule: "drift.ListTasks",
    change: inData((object) => {
      if ("attributes" in object) object.attributes = null;
    }),
  },
  {
    name: "taxYear is text",
    rule: "drift.ListClients",
    change: inData((object) => {
      if (type(object, "taxYear", "externalId")) object.taxYear = "2025";
    }),
  },
  {
    name: "lists have at most 100 items",
    rule: "tasks.limit-101",
    settings: { bounds: { listItemsMax: 100 } },
  },
  { name: "limit 1001 is accepted", rule: "tasks.limit-1001", settings: { bounds: { listItemsMax: 5_000 } } },
  {
    name: "other stages",
    rule: "tasks.stages",
    settings: {
      tasks: {
        plans: {
          TAX_PREP: {
            mode: "timed",
            stages: [
              { type: "intake", durationMs: 500 },
              { type: "review", durationMs: 500 },
            ],
          },
        },
      },
    },
  },
  {
    name: "an unknown client is an error",
    rule: "clients.unknown",
    change(response) {
      if (response.json.data?.me?.workspace?.client === null)
        response.json = {
          data: { me: null },
          errors: [
            {
              message: "Client not found",
              path: ["me", "workspace", "client"],
              extensions: { code: "NOT_FOUND" },
            },
          ],
        };
    },
  },
  {
    name: "ids are UUIDs of version 4",
    rule: "ids.form",
    change: inData((object) => {
      if (typeof object.id === "string") object.id = object.id.replace(/^(.{14})7/, "$14");
    }),
  },
  {
    name: "the gateway rejects workspace tokens",
    rule: "gateway.workspace-token",
    change(response, { isGateway, query, authorization }) {
      if (isGateway && query === "{ me { __typename } }" && authorization)
        response.json = {
          data: { me: null },
          errors: [{ message: "Unauthorized", path: ["me"], extensions: { code: "FORBIDDEN" } }],
        };
    },
  },
  {
    name: "a partner's token lives an hour",
    rule: "partner.lifetime",
    change: ({ json }) => {
      const login = json.data?.loginViaPersonalApiToken;
      if (login)
        login.accessToken = withClaims(login.accessToken, (claims) => {
          claims.exp = claims.iat + 3_600;
        });
    },
  },
  {
    name: "the login has another message",
    rule: "partner.wrong-key",
    settings: {
      errors: [
        {
          code: "UNAUTHENTICATED",
          message: "Invalid personal API token",
          replaceWith: { code: "BAD_USER_INPUT" },
        },
      ],
    },
  },
  {
    name: "the gateway serves the catalog",
    rule: "gateway.base-operation",
    change(response, { isGateway, query }) {
      if (isGateway && query.includes("webhookEventCatalog"))
        response.json = { data: { webhookEventCatalog: [] } };
    },
  },
];

const firstEndpoint: { value: Loose } = { value: undefined };
const firstTask: { value: Loose } = { value: undefined };

const created =
  (edit: (endpoint: Loose, variables: Loose) => void): Change =>
  ({ json }, { variables }) => {
    const found = json.data?.createWebhookEndpoint?.endpoint;
    if (found) edit(found, variables);
  };

const updated =
  (edit: (endpoint: Loose, input: Loose) => void): Change =>
  ({ json }, { variables }) => {
    const found = json.data?.updateWebhookEndpoint;
    if (found) edit(found, variables.input);
  };

const notFound = (text: string): SettingsChanges => ({
  errors: [{ code: "NOT_FOUND", message: `${text} not found`, replaceWith: { code: "BAD_USER_INPUT" } }],
});

const reworded = (text: string): SettingsChanges => ({
  errors: [{ code: "BAD_USER_INPUT", message: text, replaceWith: { message: "Invalid input" } }],
});

/** Differences that only a run with --writes can see. */
export const plantedWrites: readonly Planted[] = [
  {
    name: "a new endpoint is disabled",
    rule: "endpoints.create",
    change: created((endpoint) => {
      endpoint.enabled = false;
    }),
  },
  {
    name: "a missing description is null",
    rule: "endpoints.create",
    change: created((endpoint) => {
      endpoint.description ||= null;
    }),
  },
  {
    name: "a secret without whsec_",
    rule: "endpoints.create",
    change: ({ json }) => {
      if (json.data?.createWebhookEndpoint) json.data.createWebhookEndpoint.signingSecret = "c2VjcmV0";
    },
  },
  {
    name: "event types are sorted",
    rule: "endpoints.duplicate-events",
    change: created((endpoint) => {
      endpoint.eventTypes?.sort();
    }),
  },
  {
    name: "loopback urls are rejected",
    rule: "endpoints.loopback-url",
    settings: { allowLoopbackHttp: false },
  },
  {
    name: "another message for plain http",
    rule: "endpoints.http-url",
    settings: reworded("Webhook endpoint url must be an HTTPS URL"),
  },
  {
    name: "another message for no events",
    rule: "endpoints.no-events",
    settings: reworded("At least one webhook event type is required"),
  },
  {
    name: "another message for an unknown event",
    rule: "endpoints.unknown-event",
    settings: reworded("Unsupported webhook event type"),
  },
  {
    name: "another message for an empty update",
    rule: "endpoints.update-nothing",
    settings: reworded("At least one endpoint field must be updated"),
  },
  {
    name: "a userToken may write",
    rule: "endpoints.create-user-token",
    change: error(
      (_, { variables }) => String(variables.input?.url).endsWith("/user"),
      (each) => {
        each.extensions.code = "UNAUTHENTICATED";
      },
    ),
  },
  {
    name: "description null changes nothing",
    rule: "endpoints.clear-description",
    change: updated((endpoint, input) => {
      if (input.description === null) endpoint.description = "workspace-tasks compare";
    }),
  },
  {
    name: "updatedAt does not move",
    rule: "endpoints.updated-at",
    change: updated((endpoint) => {
      endpoint.updatedAt = endpoint.createdAt;
    }),
  },
  {
    name: "createdAt moves",
    rule: "endpoints.updated-at",
    change: updated((endpoint) => {
      endpoint.createdAt = endpoint.updatedAt;
    }),
  },
  {
    name: "enabled false is ignored",
    rule: "endpoints.pause",
    change: updated((endpoint, input) => {
      if (input.enabled === false) endpoint.enabled = true;
    }),
  },
  {
    name: "enabled null enables",
    rule: "endpoints.update-nulls",
    change: updated((endpoint, input) => {
      if (input.enabled === null) endpoint.enabled = true;
    }),
  },
  {
    name: "eventTypes null is ignored",
    rule: "endpoints.all-events",
    change: updated((endpoint, input) => {
      if (input.eventTypes === null) endpoint.eventTypes = ["documents.synced"];
    }),
  },
  {
    name: "the grace period is at most a day",
    rule: "endpoints.rotate-long",
    settings: { bounds: { secretGraceSecondsMax: 86_400 } },
  },
  {
    name: "a rotation keeps the secret",
    rule: "endpoints.rotate",
    change: ({ json }) => {
      if (json.data?.rotateWebhookEndpointSecret)
        json.data.rotateWebhookEndpointSecret.signingSecret = "whsec_c2FtZQ==";
    },
  },
  {
    name: "a deletion returns false",
    rule: "endpoints.delete",
    change: ({ json }) => {
      if (json.data?.deleteWebhookEndpoint) json.data.deleteWebhookEndpoint = false;
    },
  },
  {
    name: "another code for an unknown endpoint",
    rule: "endpoints.update-unknown",
    settings: notFound("Webhook endpoint"),
  },
  {
    name: "another code for an unknown connection",
    rule: "partner.collect-unknown",
    settings: notFound("Provider connection"),
  },
  {
    name: "another code for an unknown job",
    rule: "partner.works-unknown",
    settings: notFound("Connection job"),
  },
  {
    name: "another code for an unknown work",
    rule: "partner.artifacts-unknown",
    settings: notFound("Job work"),
  },
  {
    name: "another code for an unknown client",
    rule: "clients.tax-prep-unknown",
    settings: notFound("Client"),
  },
  {
    name: "webhook operations exist on the gateway",
    rule: "routers.webhooks-on-gateway",
    change(response, { isGateway, query }) {
      if (isGateway && query.includes("mutation CreateWebhookEndpoint"))
        response.json = { data: { __typename: "Query" } };
    },
  },
  {
    name: "a field of a mutation is removed",
    rule: "drift.CreateJobWorks",
    change(response, { query }) {
      if (query.includes("Check") && query.includes("createJobWorks"))
        response.json = {
          errors: [
            {
              message: 'Cannot query field "workId" on type "JobWork".',
              extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
            },
          ],
        };
    },
  },
  {
    name: "an endpoint without updatedAt",
    rule: "drift.UpdateWebhookEndpoint",
    change: updated((endpoint) => {
      delete endpoint.updatedAt;
    }),
  },
  {
    name: "users are added by a read-only key",
    rule: "partner.users-read-only",
    change(response, { query }) {
      if (
        query.includes("addUsersToTheWorkspace(") &&
        response.json.errors?.[0].extensions.code === "FORBIDDEN"
      )
        response.json = { data: { addUsersToTheWorkspace: [] } };
    },
  },
  {
    name: "an unknown workspace is forbidden",
    rule: "partner.users-unknown",
    settings: notFound("Workspace"),
  },
  { name: "a read-only key may upload", rule: "uploads.create-read-only", change: uploadStatus(403, 400) },
  {
    name: "the token of an upload is checked last",
    rule: "uploads.create-no-token",
    change: uploadStatus(401, 400),
  },
  { name: "an upload needs no length", rule: "uploads.no-length", change: uploadStatus(400, 201) },
];
