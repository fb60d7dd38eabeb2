import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { describe, expect, it } from "vitest";
import { diagnosticsChannels, type Logger } from "../../../sdk/call/diagnostics.ts";
import { createClient, type WorkspaceTasksClient } from "../../../sdk/client.ts";
import { type ErrorCode, errorCodes, isWorkspaceTasksError } from "../../../sdk/errors.ts";
import type { ImportClient } from "../../../sdk/imports/import-input.ts";
import type { ImportJournal } from "../../../sdk/imports/journal/import-journal.ts";
import { type PostgresClientPool, postgresJournal } from "../../../sdk/imports/journal/postgres-journal.ts";
import type { CreateClientOptions } from "../../../sdk/options.ts";
import type { Fetch } from "../../../sdk/request/fetch.ts";
import type { SecretStore } from "../../../sdk/signing-secrets/signing-secrets.ts";
import { MemoryJournal } from "../../support/memory-journal.ts";

// Every code of the SDK is produced by a service, a store, a stream, a key function or a `fetch` that repeats all secrets in
// everything it returns and throws. No rendering of the error, of a log or of an event may contain one.

const apiKey = 'key/8f3a9d2c71"+%';
const token = "opaque-token-55d1f0";
const signingSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const foreignToken = "foreign-token-7741aa";
const secrets = [apiKey, token, signingSecret, foreignToken];
const said = `${apiKey} ${JSON.stringify(apiKey)} ${encodeURIComponent(apiKey)} ${token} ${signingSecret} Bearer ${foreignToken}`;

const leaks = () => Object.assign(new Error(said), { code: said, cause: new Error(said), config: said });
const throws = () => {
  throw leaks();
};
const never = () => new Promise<never>(() => {});

const issued = { exchangeSurfaceRefreshTokenForAccessTokens: { workspaceToken: token } };
const headers = { "x-request-id": said, "x-debug": said, "content-type": "application/json" };

function json(body: object, status = 200, more: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ extensions: { said }, ...body }, { status, headers: { ...headers, ...more } });
}

function rejection(code: string | undefined, message = said): () => Response {
  const extensions = { said, ...(code === undefined ? {} : { code }) };
  return () => json({ data: { probe: said }, errors: [{ message, path: [said], extensions }] });
}

type Respond = (init: RequestInit) => Response | Promise<Response>;

interface Case {
  readonly options?: Partial<CreateClientOptions>;
  /** Responses to all but the exchange. */
  readonly respond?: Respond;
  readonly exchange?: Respond;
  readonly call?: (client: WorkspaceTasksClient) => Promise<unknown>;
}

/** A key function that works once: an error can repeat only a key that exists. */
function firstThen(key: string, fail: () => never): () => string {
  let calls = 0;
  return () => (calls++ === 0 ? key : fail());
}

const workspace = (fields: object) => () =>
  json({ data: { me: { __typename: "WorkspaceUser", workspace: fields } } });
const taskId = "00000000-0000-4000-8000-000000000001";
const upload = (client: WorkspaceTasksClient, body: unknown = new Uint8Array(3)) =>
  client.uploads.upload(body as Uint8Array, { fileName: "a", mimeType: "b", maxRetries: 0 });
const store = (acquire: () => Promise<never>) => ({
  acquire,
  block: async () => {},
});
const noEndpoints = workspace({ webhookEndpoints: { data: [], done: true, iterator: null } });
const ensureEndpoint = (client: WorkspaceTasksClient, secretStore: SecretStore) =>
  // The first call makes the key known.
  client
    .me()
    .catch(() => {})
    .then(() => client.webhooks.ensureEndpoint({ url: "https://receiver.example", secrets: secretStore }));
const storedText = JSON.stringify({
  version: 1,
  url: "https://receiver.example",
  endpointId: said,
  pending: null,
  secrets: [{ secret: signingSecret, validUntilMs: null }],
});

const journalOf = (...entries: readonly (readonly unknown[])[]) =>
  new MemoryJournal(entries.map((entry) => JSON.stringify(entry)));

/** After a call: the client knows its key and a token. */
async function importWith(
  client: WorkspaceTasksClient,
  journal: ImportJournal,
  artifacts: ImportClient["artifacts"] = [],
) {
  await client.me();
  const clients = [{ externalId: said, name: said, artifacts }];
  return client.partner.imports.start({ connectionId: "connection", jobName: "job", clients, journal });
}

/** Another connection has the lock; everything else that the database says is a secret. */
const lockedPool: PostgresClientPool = {
  connect: async () => ({
    query: async ({ text }) => ({
      rows: [text.includes("try") ? {} : { pid: said, application_name: said }],
    }),
    on: () => {},
    off: () => {},
    release: () => {},
  }),
};

const doubtedImport = [
  ["import", 1, "connection"],
  ["works?", 1, "job-1", "workspace", "new", [said]],
];
/** The gateway rejects every mutation; the base router has no user of a workspace. */
const importRejectedWithConflict: Respond = (init) =>
  String(init.body).includes("mutation")
    ? json({ errors: [{ message: said, extensions: { code: "CONFLICT", said } }] })
    : json({ data: { me: { __typename: "User", id: "u" } } });

const cases: { readonly [Code in ErrorCode]: Case } = {
  CONFIGURATION_INVALID: { options: { apiKey: () => `${apiKey} ${token}\n` } },
  ARGUMENT_INVALID: { call: (client) => client.request("query Q { x }", { a: 1n }) },
  CLIENT_CLOSED: { call: (client) => client.close().then(() => client.me()) },
  RATE_LIMIT_QUEUE_FULL: {
    options: { rateLimit: { requests: 1, maxQueued: 0 } },
    call: (client) => client.me().then(() => client.me()),
  },
  RATE_LIMIT_WAIT_EXCEEDED: {
    options: { rateLimit: { requests: 1 } },
    call: (client) => client.me().then(() => client.me({ deadlineMs: 20_000 })),
  },
  RATE_LIMIT_STORE_FAILED: { options: { rateLimit: { store: store(async () => throws()) } } },
  ABORTED: { call: (client) => client.me({ signal: AbortSignal.abort() }) },
  REQUEST_TIMEOUT: { respond: never, options: { timeoutMs: 20 } },
  DEADLINE_EXCEEDED: { respond: never, options: { deadlineMs: 20 } },
  NETWORK_FAILED: { respond: throws },
  SERVICE_UNAVAILABLE: { respond: () => json({ errors: [{ message: said }] }, 503) },
  RESPONSE_INVALID: { respond: () => new Response(said, { headers: { ...headers, "content-type": said } }) },
  HTTP_REQUEST_REJECTED: { respond: () => new Response(said, { status: 404, headers }) },
  API_KEY_UNAVAILABLE: {
    options: { apiKey: firstThen(apiKey, throws) },
    respond: rejection("UNAUTHENTICATED"),
  },
  API_KEY_REJECTED: {
    exchange: () =>
      json({ data: issued, errors: [{ message: said, extensions: { code: "UNAUTHENTICATED" } }] }),
  },
  TOKEN_REJECTED: { respond: rejection("UNAUTHENTICATED") },
  PERMISSION_DENIED: { respond: rejection("FORBIDDEN") },
  RATE_LIMITED: {
    respond: () => json({ errors: [{ message: said }] }, 429, { "retry-after": "86400" }),
    options: { rateLimit: false },
  },
  WEBHOOK_EVENT_TYPE_UNSUPPORTED: {
    respond: rejection(undefined, `Unsupported webhook event type: ${said}`),
  },
  WEBHOOK_EVENT_TYPE_REQUIRED: {
    respond: rejection(undefined, `At least one webhook event type is required ${said}`),
  },
  WEBHOOK_ENDPOINT_FIELD_REQUIRED: {
    respond: rejection(undefined, `At least one endpoint field must be updated ${said}`),
  },
  WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE: {
    respond: rejection(undefined, `Webhook endpoint limit must be between ${said}`),
  },
  WEBHOOK_ENDPOINT_URL_INVALID: {
    respond: rejection(undefined, `Webhook endpoint URL must be ${said}`),
  },
  SECRET_GRACE_PERIOD_OUT_OF_RANGE: {
    respond: rejection(undefined, `Secret grace period must be between ${said}`),
  },
  ITERATOR_INVALID: { respond: rejection(undefined, `Invalid iterator ${said}`) },
  NOT_FOUND: { respond: rejection("NOT_FOUND") },
  CONFLICT: { respond: rejection("CONFLICT") },
  INPUT_INVALID: { respond: rejection("BAD_USER_INPUT") },
  DOCUMENT_INVALID: { respond: rejection("GRAPHQL_VALIDATION_FAILED") },
  SERVICE_FAILED: { respond: rejection("INTERNAL_SERVER_ERROR") },
  GRAPHQL_ERROR: { respond: rejection("SOMETHING_ELSE") },
  TASK_FAILED: {
    respond: workspace({
      tasks: [
        { id: taskId, status: "FAILED", result: { __typename: "TaskUnknownResult" }, errorMessage: said },
      ],
    }),
    call: (client) => client.tasks.waitFor(taskId),
  },
  ON_PROGRESS_FAILED: {
    respond: workspace({
      tasks: [{ id: taskId, status: "RUNNING", result: { __typename: "TaskUnknownResult" } }],
    }),
    call: (client) => client.tasks.waitFor(taskId, { onProgress: throws }),
  },
  PAGINATION_STALLED: {
    respond: workspace({
      webhookEndpoints: { data: [], done: false, iterator: "again" },
    }),
    call: (client) => client.webhooks.endpoints.list().toArray(),
  },
  UPLOAD_BODY_INVALID: {
    call: (client) => client.me().then(() => upload(client, new ReadableStream({ pull: throws }))),
  },
  UPLOAD_REJECTED: {
    respond: () => new Response(said, { status: 400, headers }),
    call: upload,
  },
  UPLOAD_LOST: { respond: () => new Response(said, { status: 404, headers }), call: upload },
  UPLOAD_FAILED: { respond: throws, call: upload },
  SECRET_STORE_FAILED: {
    respond: noEndpoints,
    call: (client) => ensureEndpoint(client, { read: async () => said, write: throws }),
  },
  SECRET_STORE_CONFLICT: {
    options: {
      clock: { ...systemClock, schedule: (delayMs, run) => systemClock.schedule(delayMs / 100, run) },
    },
    respond: noEndpoints,
    call: (client) => ensureEndpoint(client, { read: async () => storedText, write: async () => false }),
  },
  JOURNAL_MISMATCH: { call: (client) => importWith(client, journalOf(["import", 1, said])) },
  JOURNAL_DAMAGED: { call: (client) => importWith(client, journalOf(["import", said])) },
  JOURNAL_IN_USE: { call: (client) => importWith(client, postgresJournal(lockedPool, said)) },
  JOURNAL_FAILED: { call: (client) => importWith(client, { open: throws }) },
  IMPORT_CHANGED: {
    call: async (client) => {
      const started = [
        ["works", 1, ["a"], ["b"]],
        ["start", 1],
      ];
      const artifact = { name: said, type: said, externalId: said, url: "https://files.example" };
      const result = await importWith(client, journalOf(...doubtedImport, ...started), [artifact]);
      return [...result.clients()][0]?.error;
    },
  },
  IMPORT_UNDECIDED: {
    options: { gatewayUrl: "http://gateway.localhost" },
    respond: importRejectedWithConflict,
    call: async (client) => {
      const starting = [
        ["works", 1, ["a"], ["b"]],
        ["start?", 1],
      ];
      const result = await importWith(client, journalOf(...doubtedImport, ...starting));
      return [...result.clients()][0]?.error;
    },
  },
};

/** Everything that a person or a machine could print of a value. */
function everyRendering(value: unknown): string {
  const shown = { depth: 20, showHidden: true, maxStringLength: null, maxArrayLength: null } as const;
  const parts = [inspect(value, shown), inspect(value), String(value), JSON.stringify(value) ?? ""];
  if (isWorkspaceTasksError(value)) {
    const { errors, headers, extensions } = value;
    parts.push(JSON.stringify({ errors, headers, extensions }));
  }
  for (let error = value; error instanceof Error; error = error.cause) {
    parts.push(error.message, error.stack ?? "", error.name);
    for (const name of Object.getOwnPropertyNames(error)) parts.push(String(Reflect.get(error, name)));
  }
  return parts.join("\n");
}

let clients = 0;

async function run({ options, respond, exchange, call }: Case, logger: Logger): Promise<unknown> {
  const answer: Fetch = async (_, init) => {
    const isExchange = String(init?.body).includes("ExchangeApiKey");
    if (isExchange) return (exchange ?? (() => json({ data: issued })))(init as RequestInit);
    return (respond ?? (() => json({ data: { me: { __typename: "User", id: "u" } } })))(init as RequestInit);
  };
  const client = createClient({
    apiKey,
    baseUrl: `http://secrets-${clients++}.localhost`,
    fetch: answer,
    maxRetries: 0,
    logger,
    ...options,
  });
  const request = call ?? (() => client.request("query Q { probe }"));
  const error = await request(client).catch((reason: unknown) => reason);
  await client.close();
  return error;
}

describe("no key, token or signing secret is printed", () => {
  it("control: the texts that the service repeats hold each of them", () => {
    for (const secret of secrets) expect(everyRendering(leaks())).toContain(secret);
  });

  it.each(errorCodes)("by an error %s, its causes, logs and events", async (code) => {
    const heard: unknown[] = [];
    const hear = (...events: unknown[]) => void heard.push(...events);
    for (const name of diagnosticsChannels) subscribe(name, hear);
    const error = await run(cases[code], { debug: hear, info: hear, warn: hear, error: hear });
    for (const name of diagnosticsChannels) unsubscribe(name, hear);
    expect(isWorkspaceTasksError(error) ? error.code : error, inspect(error)).toBe(code);
    const printed = everyRendering(error) + everyRendering(heard);
    for (const secret of secrets) expect(printed).not.toContain(secret);
    expect(printed).not.toContain(encodeURIComponent(apiKey));
  });
});
