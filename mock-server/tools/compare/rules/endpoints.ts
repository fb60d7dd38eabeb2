import { isDeepStrictEqual } from "node:util";
import { payloadJsonSchema } from "@workspace-tasks/events";
import { eventCatalog, type KnownEventName, knownEventNames } from "@workspace-tasks/events/catalog";
import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { isJsonSchema } from "@workspace-tasks/mock-server/parts";
import { create, createdBy, quiet, remove } from "../ask/created.ts";
import {
  acceptances,
  accepted,
  badInput,
  bound,
  distinct,
  type Fact,
  forbidden,
  hasEach,
  hasMessage,
  isNotAccepted,
  notFound,
  type Options,
  outcomeOf,
  type Rule,
  rejections,
  rule,
  sameOf,
  unauthenticated,
  wordOf,
  wordsOf,
} from "../ask/rule.ts";
import { Untestable } from "../ask/send.ts";
import { type Service, type ServiceResponse, type TokenName, unknownId } from "../ask/service.ts";
import { asAdministrator } from "./tokens.ts";

type Json = Readonly<Record<string, unknown>>;

const catalog = (service: Service) => service.operation("WebhookEventCatalog", {}, { token: "none" });

const entriesOf = ({ data }: ServiceResponse): readonly Json[] => {
  const list = data?.["webhookEventCatalog"];
  return Array.isArray(list) ? list.filter(isPlainObject) : [];
};

const entryRule = (
  title: string,
  name: string,
  expected: Fact,
  read: (entry: Json) => Fact,
  options?: Options,
): Rule =>
  rule(
    title,
    expected,
    async (service) => {
      const entry = entriesOf(accepted(await catalog(service))).find((each) => each["name"] === name);
      if (!entry) throw new Untestable(`the catalog has no ${name}`);
      return read(entry);
    },
    options,
  );

/**
 * The properties of a JSON Schema and their types: `{ taskId: "string", "errorMessage?": "null|string" }`; `?` marks a property
 * that is not required.
 */
function propertiesOf(schema: unknown): Fact {
  if (!isPlainObject(schema) || !isJsonSchema(schema)) return "not a schema";
  const { properties, required } = schema;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  const entries = Object.entries(isPlainObject(properties) ? properties : {})
    .filter(([name]) => wordOf(name) === name)
    .map(([name, property]) => [`${name}${isRequired(name) ? "" : "?"}`, typesOf(property).join("|")]);
  return Object.fromEntries(entries.toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1)));
}

/** The types that a schema, or one of its alternatives, names. */
function typesOf(schema: unknown): readonly string[] {
  const alternatives = ["anyOf", "oneOf"].flatMap((keyword) => valueAt(schema, keyword) ?? []);
  return distinct([
    ...[valueAt(schema, "type") ?? []].flat().map(wordOf),
    ...alternatives.flatMap((each) => typesOf(each)),
  ]);
}

/** The interface names these fields of the body of `documents.synced`, and no status. */
const namedFields = ["connectionId", "providerKey", "sourceExternalId", "duplicateCount"];

/** The names of a schema's properties; `?` marks optional ones. */
const namesIn = (schema: Fact) => Object.keys(schema ?? {}).map((name) => name.replace("?", ""));

const perEvent = (name: KnownEventName): readonly Rule[] => {
  const isPull = name === "documents.synced";
  const { status = "", taskTypes = [] } = eventCatalog.find((entry) => entry.name === name) ?? {};
  return [
    entryRule(
      `${isPull ? "C3 A-10" : "C1"} catalog.${name}: ${name} has its version, status and task types`,
      name,
      { version: "2", status: status || "empty", taskTypes: distinct(taskTypes) },
      (entry) => ({
        version: wordOf(entry["version"]),
        status: wordOf(entry["status"]),
        taskTypes: Array.isArray(entry["taskTypes"]) ? distinct(entry["taskTypes"].map(wordOf)) : "no list",
      }),
      isPull ? { keeps: sameOf("version") } : {},
    ),
    entryRule(
      `C2 ${isPull ? "A-10 " : ""}A-31 catalog.payload-${name}: the payload schema of ${name} has its properties`,
      name,
      propertiesOf(payloadJsonSchema(name)),
      ({ payloadSchema }) => propertiesOf(payloadSchema),
      {
        // The interface shows the fields of a body, not the schema: one that refers elsewhere shows none of them.
        keeps: (expected, found) =>
          typeof found === "object" &&
          (namesIn(found).length === 0 || hasEach(isPull ? namedFields : namesIn(expected), namesIn(found))),
      },
    ),
  ];
};

export const catalogRules: readonly Rule[] = [
  rule(
    "C1 A-31 catalog.events: the catalog is public and lists the known events",
    distinct(eventCatalog.map(({ name }) => name)),
    async (service) => {
      const response = await catalog(service);
      if (response.errors.length > 0) return outcomeOf(response);
      return distinct(entriesOf(response).map(({ name }) => wordOf(name)));
    },
    { keeps: hasEach },
  ),
  ...knownEventNames.flatMap(perEvent),
];

const list = (service: Service, variables: Json = {}, token: TokenName = "admin", isNew = false) =>
  service.operation("ListWebhookEndpoints", variables, { token, isNew });

const pageOf = (response: ServiceResponse): Json => {
  const page = valueAt(accepted(response, "a page").data, "me", "workspace", "webhookEndpoints");
  return isPlainObject(page) ? page : {};
};
const idsOf = (response: ServiceResponse): readonly unknown[] => {
  const { data } = pageOf(response);
  return Array.isArray(data) ? data.map((each) => valueAt(each, "id")) : [];
};

const defaultLimit = 20;
const limits = badInput("Webhook endpoint limit must be between 1 and 100");
const pageMax = bound((endpointPageItemsMax) => ({ bounds: { endpointPageItemsMax } }));

export const endpointRules: readonly Rule[] = [
  ...asAdministrator([
    ...acceptances([
      ["W11 endpoints.list: an administrator lists endpoints", (s) => list(s)],
      ["W11 endpoints.limit-100: a page has up to 100 endpoints", (s) => list(s, { limit: 100 })],
    ]),
    ...rejections([
      ["W11 A-30 endpoints.limit-0: limit 0", limits, (s) => list(s, { limit: 0 }), { setting: pageMax }],
      [
        "W11 A-30 endpoints.limit-101: limit 101",
        limits,
        (s) => list(s, { limit: 101 }),
        { setting: pageMax },
      ],
      [
        "W12 A-8 endpoints.bad-iterator: a malformed iterator",
        badInput("Invalid iterator"),
        (s) => list(s, { iterator: "not-an-iterator" }),
      ],
    ]),
    rule(
      `W11 endpoints.default-limit: a page without arguments has ${defaultLimit} endpoints`,
      defaultLimit,
      async (service) => {
        if (idsOf(await list(service, { limit: 100 })).length < defaultLimit)
          throw new Untestable(`the workspace has fewer than ${defaultLimit} webhook endpoints`);
        return idsOf(await list(service)).length;
      },
    ),
    rule("W11 A-8 endpoints.done: iterator is null when done is true", "null", async (service) => {
      const page = pageOf(await list(service, { limit: 100 }));
      if (page["done"] !== true) throw new Untestable("there are more than 100 endpoints");
      return page["iterator"] === null ? "null" : "another";
    }),
    rule(
      "W11 endpoints.paging: pages are in the order of the whole list, without repeats",
      { lengths: [1, 1], sameOrder: true },
      async (service) => {
        const page = (variables: Json) => list(service, variables, "admin", true);
        const all = idsOf(await page({ limit: 100 }));
        const first = await page({ limit: 1 });
        const { iterator } = pageOf(first);
        if (all.length < 2 || typeof iterator !== "string")
          throw new Untestable("the workspace has fewer than two webhook endpoints");
        const pages = [idsOf(first), idsOf(await page({ limit: 1, iterator }))];
        if (!isDeepStrictEqual(all, idsOf(await page({ limit: 100 }))))
          throw new Untestable("the workspace's endpoints changed during the run");
        return {
          lengths: pages.map(({ length }) => length),
          sameOrder: pages.flat().every((id, index) => id === all[index]),
        };
      },
    ),
  ]),
  ...rejections(
    [
      [
        "W14 A-4 endpoints.no-token: a list of endpoints without a token",
        unauthenticated(),
        (s) => list(s, {}, "none"),
      ],
      [
        "W14 A-4 endpoints.read-only: a list of endpoints with a read-only key",
        forbidden,
        (s) => list(s, {}, "readOnly"),
      ],
    ],
    { keeps: hasMessage },
  ),
];

const noHttps = badInput("Webhook endpoint url must be an HTTPS URL");
const noEvents = badInput("At least one webhook event type is required");
const noEndpoint = notFound("Webhook endpoint");
const grace = badInput("Secret grace period must be between 0 and 604800 seconds");
const graceMax = bound((secretGraceSecondsMax) => ({ bounds: { secretGraceSecondsMax } }));
const insecure = "http://receiver.invalid";

/** An endpoint, by what can be compared: of its texts whether they are those that were sent. */
function endpointFact(endpoint: unknown, sent: Json): Fact {
  if (!isPlainObject(endpoint)) return "no endpoint";
  const { url, description, enabled, eventTypes } = endpoint;
  return {
    url: url === sent["url"],
    description: description === sent["description"] ? "as sent" : wordOf(description ?? null),
    enabled: enabled === true,
    eventTypes: eventTypes === null ? null : wordsOf(eventTypes),
  };
}

const creationRules: readonly Rule[] = [
  rule(
    "W1 W2 W3 endpoints.create: a new endpoint is enabled, has no description, every event and a whsec_ secret",
    { endpoint: { url: true, description: "empty", enabled: true, eventTypes: null }, secret: true },
    async (service) => {
      const url = service.url("plain");
      const response = await create(service, url, {});
      if (response.errors.length > 0) return outcomeOf(response);
      const made = response.data?.["createWebhookEndpoint"];
      return {
        endpoint: endpointFact(valueAt(made, "endpoint"), { url }),
        secret: String(valueAt(made, "signingSecret")).startsWith("whsec_"),
      };
    },
  ),
  rule(
    "W5 A-31 endpoints.duplicate-events: repeated event types are removed, in the order of first appearance",
    ["task.failed", "documents.synced"],
    async (service) => {
      const input = { eventTypes: ["task.failed", "documents.synced", "task.failed"] };
      return wordsOf((await createdBy(service, input)).endpoint["eventTypes"]);
    },
    {
      // The interface does not say in which order an endpoint has its event types.
      keeps: (expected, found) =>
        Array.isArray(found) && isDeepStrictEqual(found.toSorted(), (expected as string[]).toSorted()),
    },
  ),
  rule(
    "W6 A-6 endpoints.loopback-url: plain http to the own computer is accepted",
    "accepted",
    async (service) => {
      const response = await create(service, service.url("loopback", "http://127.0.0.1:9"));
      return response.errors.length > 0 ? "rejected" : outcomeOf(response);
    },
    { setting: (found) => ({ allowLoopbackHttp: found === "accepted" }) },
  ),
  ...rejections([
    ["W6 A-6 endpoints.http-url: a url with plain http", noHttps, (s) => create(s, s.url("http", insecure))],
    [
      "W6 A-6 endpoints.user-info-url: a url with user info",
      noHttps,
      (s) => create(s, s.url("user-info", "https://user:password@receiver.invalid")),
    ],
    [
      "W6 A-6 endpoints.white-space-url: a url with white space",
      noHttps,
      (s) => create(s, s.url("white space")),
    ],
    [
      "W4 A-30 endpoints.no-events: an empty list of event types",
      noEvents,
      (s) => create(s, s.url("no-events"), { eventTypes: [] }),
    ],
    [
      "W5 A-30 endpoints.unknown-event: an unknown event type",
      badInput("Unsupported webhook event type"),
      (s) => create(s, s.url("unknown-event"), { eventTypes: ["task.unheard-of"] }),
    ],
  ]),
];

const update = (service: Service, endpointId: string, input: Json) =>
  service.operation("UpdateWebhookEndpoint", { input: { endpointId, ...input } });
const rotate = (service: Service, endpointId: string, gracePeriodSeconds?: number) =>
  service.operation("RotateWebhookEndpointSecret", { input: { endpointId, gracePeriodSeconds } });

const before = { description: "workspace-tasks compare", ...quiet };

type UpdateRow = readonly [name: string, says: string, patch: Json, after: Readonly<Record<string, Fact>>];

/** What an update of an endpoint does; it leaves what it does not name. */
const updates: readonly UpdateRow[] = [
  [
    "clear-description",
    "description null clears it, and leaves the rest",
    { description: null },
    { description: "empty" },
  ],
  ["pause", "enabled false pauses an endpoint, and leaves the rest", { enabled: false }, { enabled: false }],
  [
    "update-nulls",
    "url and enabled null leave them unchanged",
    { url: null, enabled: null, description: "again" },
    {},
  ],
  ["all-events", "eventTypes null resets to all events", { eventTypes: null }, { eventTypes: null }],
];

/** A request about an endpoint that exists. */
const onNew = (ask: (service: Service, id: string) => Promise<ServiceResponse>) => async (service: Service) =>
  ask(service, (await createdBy(service)).id);

const changeRules: readonly Rule[] = [
  rule(
    "W9 endpoints.updated-at: an update changes updatedAt and not createdAt",
    { updatedAt: "later", createdAt: "unchanged" },
    async (service) => {
      const made = await createdBy(service, before);
      await service.sender.wait(1_100, "for another time");
      const response = accepted(await update(service, made.id, { description: null }), "the update");
      const after = response.data?.["updateWebhookEndpoint"];
      const passedMs = (name: string) =>
        new Date(valueAt(after, name) as string).getTime() -
        new Date(made.endpoint[name] as string).getTime();
      const [updated, created] = [passedMs("updatedAt"), passedMs("createdAt")];
      if (Number.isNaN(updated)) throw new Untestable("no times were returned");
      return {
        updatedAt: updated > 0 ? "later" : "not later",
        createdAt: created === 0 ? "unchanged" : "changed",
      };
    },
  ),
  ...updates.map(([name, says, patch, after]) =>
    rule(
      `W7 endpoints.${name}: ${says}`,
      { url: true, description: "as sent", enabled: true, eventTypes: quiet.eventTypes, ...after },
      async (service) => {
        const { id, url } = await createdBy(service, before);
        const response = accepted(await update(service, id, patch), "the update");
        return endpointFact(response.data?.["updateWebhookEndpoint"], { ...before, ...patch, url });
      },
    ),
  ),
  ...rejections([
    [
      "W8 A-30 endpoints.update-nothing: an update that changes nothing",
      badInput("At least one endpoint field must be updated"),
      onNew((s, id) => update(s, id, {})),
    ],
    [
      "W4 A-30 endpoints.update-no-events: an update with an empty list of event types",
      noEvents,
      onNew((s, id) => update(s, id, { eventTypes: [] })),
    ],
    [
      "W6 A-6 endpoints.update-http-url: an update to plain http",
      noHttps,
      onNew((s, id) => update(s, id, { url: s.url("change", insecure) })),
    ],
    [
      "W10 A-7 endpoints.update-unknown: an update of an unknown endpoint",
      noEndpoint,
      (s) => update(s, unknownId, { enabled: false }),
    ],
  ]),
  rule(
    "W1 W13 endpoints.rotate: each rotation returns another whsec_ secret",
    { secrets: [true, true, true], distinct: 3 },
    async (service) => {
      const { id, secret } = await createdBy(service);
      const rotated = [await rotate(service, id), await rotate(service, id, 0)];
      const others = rotated.map(({ data }) => valueAt(data, "rotateWebhookEndpointSecret", "signingSecret"));
      const secrets = [secret, ...others].map(String);
      return { secrets: secrets.map((each) => each.startsWith("whsec_")), distinct: new Set(secrets).size };
    },
  ),
  ...rejections(
    [
      [
        "W13 A-30 endpoints.rotate-negative: a negative grace period",
        grace,
        onNew((s, id) => rotate(s, id, -1)),
      ],
      [
        "W13 A-30 endpoints.rotate-long: a grace period above 604800 s",
        grace,
        onNew((s, id) => rotate(s, id, 604_801)),
      ],
    ],
    { setting: graceMax },
  ),
  rule(
    "W10 endpoints.delete: a deletion returns true",
    { outcome: "accepted", returned: true },
    async (service) => {
      const response = await remove(service, (await createdBy(service)).id);
      return { outcome: outcomeOf(response), returned: response.data?.["deleteWebhookEndpoint"] === true };
    },
  ),
  ...rejections([
    [
      "W10 A-7 endpoints.rotate-unknown: a rotation of an unknown endpoint",
      noEndpoint,
      (s) => rotate(s, unknownId),
    ],
    [
      "W10 A-7 endpoints.delete-again: a second deletion",
      noEndpoint,
      onNew(async (s, id) => {
        await remove(s, id);
        return remove(s, id);
      }),
    ],
    [
      "W10 A-7 endpoints.update-deleted: an update of a deleted endpoint",
      noEndpoint,
      onNew(async (s, id) => {
        await remove(s, id);
        return update(s, id, { enabled: true });
      }),
    ],
  ]),
];

const withToken = (token: TokenName) => (service: Service) => create(service, service.url(token), {}, token);

export const endpointWriteRules: readonly Rule[] = [
  ...asAdministrator([...creationRules, ...changeRules], { needs: "writes" }),
  ...rejections(
    [
      [
        "W14 A-4 endpoints.create-no-token: a mutation without a token",
        unauthenticated(),
        withToken("none"),
        { keeps: hasMessage },
      ],
      // Here the interface says both, the message and the code.
      [
        "K7 W14 endpoints.create-read-only: a mutation with a read-only key",
        forbidden,
        withToken("readOnly"),
      ],
      [
        "W14 A-23 endpoints.create-user-token: a workspace's operation with a userToken",
        forbidden,
        withToken("user"),
        { keeps: isNotAccepted },
      ],
    ],
    { needs: "writes" },
  ),
];
