// What the interface leaves open, each answered otherwise by a service, differs from an assumption and is not refuted.
import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import {
  exitCodeOf,
  renderJunitReport,
  renderTextReport,
  verdictOf,
} from "../../../../mock-server/tools/compare/report.ts";
import { type Change, changing, type Exchange, eachObject } from "../../../support/changed-responses.ts";
import {
  type Around,
  compare,
  differencesIn,
  refutedIn,
  startComparedService,
} from "../../../support/compared-service.ts";

const writing = { writes: true } as const;

/** Messages that the interface shows. */
const fixedMessages = new Set([
  "Unauthorized",
  "Unsupported webhook event type",
  "At least one webhook event type is required",
  "At least one endpoint field must be updated",
  "Webhook endpoint limit must be between 1 and 100",
  "Secret grace period must be between 0 and 604800 seconds",
]);

const eachError =
  (edit: (error: Exchange["json"]) => void): Change =>
  ({ json }) => {
    for (const error of json.errors ?? []) edit(error);
  };
const eachField =
  (name: RegExp, edit: (text: string) => unknown): Change =>
  ({ json }) =>
    eachObject(json.data, (object) => {
      for (const key of Object.keys(object))
        if (name.test(key) && typeof object[key] === "string") object[key] = edit(object[key]);
    });

/** What the interface says of the code of these errors stays. */
const hasFixedCode = ({ extensions }: Exchange["json"]) =>
  ["FORBIDDEN", "RATE_LIMITED"].includes(extensions?.code);

const moreEvents: Change = ({ json }) => {
  const list = json.data?.webhookEventCatalog;
  if (list)
    list.push({ ...list[0], name: "task.cancelled" }, { ...list[0], name: "client.created", version: "1" });
};

const otherSchemas: Change = ({ json }) => {
  for (const { payloadSchema } of json.data?.webhookEventCatalog ?? []) {
    payloadSchema.properties.extra = { type: "string" };
    payloadSchema.required = [];
  }
};

const open: Readonly<Record<string, Change | SettingsChanges>> = {
  "two more events in the catalog": moreEvents,
  "other payload schemas with the same fields": otherSchemas,
  "times without milliseconds": eachField(/At$/, (time) => time.replace(/\.\d+Z$/, "Z")),
  "times with an offset": eachField(/At$/, (time) => time.replace("Z", "+00:00")),
  "times as numbers": eachField(/At$/, (time) => Date.parse(time)),
  "other codes": eachError((error) => {
    if (!hasFixedCode(error)) error.extensions.code = `OTHER_${error.extensions.code}`;
  }),
  "no codes": eachError((error) => {
    if (!hasFixedCode(error)) delete error.extensions;
  }),
  "other free messages": eachError((error) => {
    if (!fixedMessages.has(error.message)) error.message = "something is wrong";
  }),
  "stack traces and suggestions in errors": eachError((error) => {
    if (fixedMessages.has(error.message)) error.extensions.stacktrace = ["at f (/srv/index.js:1:1)"];
    else error.message += ' Did you mean "me"?';
  }),
  "errors without a path": eachError((error) => delete error.path),
  // `true` is a schema, too.
  "extra fields": ({ json }) => eachObject(json.data, (object) => Object.assign(object, { extra: true })),
  "other HTTP statuses of errors": (exchange) => {
    if (exchange.json.errors && exchange.status === 200) exchange.status = 400;
    else if (exchange.status >= 400 && exchange.status !== 429) exchange.status = 200;
  },
  "another content type": ({ headers }) =>
    Object.assign(headers, { "content-type": "application/graphql-response+json" }),
  "a cursor on the last page": ({ json }) => {
    const page = json.data?.me?.workspace?.webhookEndpoints;
    if (page?.done) page.iterator = "end";
  },
  "event types in the order of names": ({ json }) =>
    eachObject(json.data, (object) => {
      if (Array.isArray(object.eventTypes)) object.eventTypes.sort();
    }),
  "no fields of User": (exchange) => {
    if (!exchange.query.includes("... on User {")) return;
    const message = 'Cannot query field "workspaces" on type "User".';
    exchange.json = { errors: [{ message, extensions: { code: "GRAPHQL_VALIDATION_FAILED" } }] };
  },
  "no operations beyond the interface": (exchange) => {
    const [, name] = /\b(tasks|clients?)\(/.exec(exchange.query) ?? [];
    const [, operation] =
      /\b(createClient|addClientDocuments|triggerTaxPrep|addUsersToTheWorkspace|startProviderConnection|createJobWorkArtifacts|initiateTaxPrepsImport)\(/.exec(
        exchange.query,
      ) ?? [];
    if (!name && !operation) return;
    const message = operation
      ? `Cannot query field "${operation}" on type "Mutation".`
      : `Cannot query field "${name}" on type "Workspace".`;
    exchange.json = { errors: [{ message, extensions: { code: "GRAPHQL_VALIDATION_FAILED" } }] };
  },
  "statuses 401, another window and no plain http": {
    unauthenticatedStatus: 401,
    allowLoopbackHttp: false,
    bounds: { listItemsMax: 100 },
  },
};

/** Ids that are no UUIDs: the service gets its own ones back. */
const otherIds: Around = (send) => {
  const uuid = /"([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3}-[0-9a-f]{4})-([0-9a-f]{12})"/g;
  const other = /"node_([0-9a-f]{8})_([0-9a-f]{4})_([0-9a-f]{3}-[0-9a-f]{4})_([0-9a-f]{12})"/g;
  return async (url, init) => {
    const body = typeof init.body === "string" ? init.body.replace(other, '"$1-$2-7$3-$4"') : init.body;
    const response = await send(url, { ...init, body: body ?? null });
    const text = await response.text();
    const { status, headers } = response;
    return new Response(text === "" ? null : text.replace(uuid, '"node_$1_$2_$3_$4"'), { status, headers });
  };
};

/** Tokens that are no JWTs: the service gets its own ones back. */
const opaqueTokens: Around = (send) => {
  const tokens: string[] = [];
  return async (url, init) => {
    const headers = new Headers(init.headers);
    const bearer = /^Bearer opaque-(\d+)$/.exec(headers.get("authorization") ?? "");
    if (bearer) headers.set("authorization", `Bearer ${tokens[Number(bearer[1])]}`);
    return changing(eachField(/Token$/, (token) => `opaque-${tokens.push(token) - 1}`))(send)(url, {
      ...init,
      headers,
    });
  };
};

const arounds: readonly (readonly [string, Around | undefined, SettingsChanges])[] = [
  ...Object.entries(open).map(([title, change]) =>
    typeof change === "function"
      ? ([title, changing(change), {}] as const)
      : ([title, undefined, change] as const),
  ),
  ["ids that are no UUIDs", otherIds, {}],
  ["tokens that are no JWTs", opaqueTokens, {}],
];

describe("compare with a service that answers an open question otherwise", () => {
  it.each(arounds)("%s: differs from an assumption, and nothing is refuted", async (_, around, settings) => {
    await using service = await startComparedService(settings);
    const report = await compare(service, { ...writing, ...(around ? { around } : {}) });
    expect(refutedIn(report)).toEqual([]);
    expect(differencesIn(report)).not.toEqual([]);
    const differing = report.rules.filter(({ verdict }) => verdict === "differs");
    expect(differing.filter(({ assumptions }) => assumptions.length === 0)).toEqual([]);
    expect([verdictOf(report), exitCodeOf(report)]).toEqual(["differs", 0]);
    expect(report.assumptions.filter(({ verdict }) => verdict === "differs")).not.toEqual([]);
    expect(renderJunitReport(report)).toMatch(/ failures="0"[\s\S]*<skipped message="differs from A-\d/);
    expect(renderTextReport(report)).toMatch(/^differs from A-\d+/);
  });

  it("an administrator's operations with a member's key, rejected with another code: nothing is refuted", async () => {
    await using service = await startComparedService();
    const { apiKey } = await service.mock.control.createApiKey({ role: "l1" });
    const change = open["other codes"] as Change;
    const forbidden = eachError((error) => {
      if (error.extensions.code === "FORBIDDEN") error.extensions.code = "PERMISSION_DENIED";
    });
    const report = await compare(
      { ...service, keys: { admin: apiKey } },
      { ...writing, around: changing((exchange) => void [change, forbidden].map((each) => each(exchange))) },
    );
    expect(refutedIn(report)).toEqual([]);
    expect(report.rules.find(({ id }) => id === "endpoints.limit-0")?.received).toMatch(/role l1/);
  });
});
