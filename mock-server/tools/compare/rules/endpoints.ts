import { isDeepStrictEqual } from "node:util";
import { payloadJsonSchema } from "@workspace-tasks/events";
import { eventCatalog, type KnownEventName, knownEventNames } from "@workspace-tasks/events/catalog";
import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { create, createdBy, quiet, remove } from "../ask/created.ts";
import {
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
  type Rejection,
  type Rule,
  rejected,
  rejectionOf,
  rule,
  sameOf,
  toErrorSetting,
  unauthenticated,
  wordOf,
} from "../ask/rule.ts";
import { Untestable } from "../ask/send.ts";
import { type Service, type ServiceResponse, type TokenName, unknownId } from "../ask/service.ts";
import { summarizeSchema } from "../ask/summarize-schema.ts";
import { requirePermission, roleOf } from "./tokens.ts";

type Json = Readonly<Record<string, unknown>>;

const catalog = (service: Service) => service.operation("WebhookEventCatalog", {}, { token: "none" });

/** The entries of the catalog. @throws Untestable when it is rejected */
async function entriesOf(service: Service): Promise<readonly Json[]> {
  const list = accepted(await catalog(service)).data?.["webhookEventCatalog"];
  return Array.isArray(list) ? list.filter(isPlainObject) : [];
}

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
      const entry = (await entriesOf(service)).find((each) => each["name"] === name);
      if (!entry) throw new Untestable(`the catalog has no ${name}`);
      return read(entry);
    },
    options,
  );

/** Of the body of `documents.synced` the interface names these fields, and no status. */
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
      summarizeSchema(payloadJsonSchema(name)),
      ({ payloadSchema }) => summarizeSchema(payloadSchema),
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
      return distinct((await entriesOf(service)).map(({ name }) => wordOf(name)));
    },
    { keeps: hasEach },
  ),
  ...knownEventNames.flatMap(perEvent),
];

const list = (service: Service, variables: Json = {}, token: TokenName = "admin", isNew = false) =>
  service.operation("ListWebhookEndpoints", variables, { token, isNew });

/** Whether the key may manage endpoints. @throws Untestable when it may not */
export const asAdministrator = async (service: Service) => requirePermission(service, await list(service));

const pageOf = (response: ServiceResponse): Json => {
  const page = valueAt(accepted(response, "a page").data, "me", "workspace", "webhookEndpoints");
  return isPlainObject(page) ? page : {};
};
const idsOf = (response: ServiceResponse): readonly unknown[] => {
  const { data } = pageOf(response);
  return Array.isArray(data) ? data.map((each) => valueAt(each, "id")) : [];
};

const administrators = (each: Rule): Rule => ({ ...each, permit: asAdministrator });

const limits = badInput("Webhook endpoint limit must be between 1 and 100");
const pageMax = bound((endpointPageItemsMax) => ({ bounds: { endpointPageItemsMax } }));

export const endpointRules: readonly Rule[] = [
  rule("W11 endpoints.list: an administrator lists endpoints", "accepted", async (service) => {
    const response = await list(service);
    // With a read-only key beside it, an administrator's key that is rejected is no read-only key.
    if (!service.has("readOnly") || (await roleOf(service)) !== "admin") await asAdministrator(service);
    return outcomeOf(response);
  }),
  ...[
    rule("W11 endpoints.limit-100: a page has up to 100 endpoints", "accepted", async (service) =>
      outcomeOf(await list(service, { limit: 100 })),
    ),
    ...[0, 101].map((limit) =>
      rejected(
        `W11 A-30 endpoints.limit-${limit}: limit ${limit} is rejected`,
        limits,
        (service) => list(service, { limit }),
        { setting: pageMax },
      ),
    ),
    rejected(
      "W12 A-8 endpoints.bad-iterator: a malformed iterator is rejected",
      badInput("Invalid iterator"),
      (service) => list(service, { iterator: "not-an-iterator" }),
    ),
    rule(
      "W11 A-8 endpoints.done: iterator is null when done is true",
      { iterator: true },
      async (service) => {
        const page = pageOf(await list(service, { limit: 100 }));
        if (page["done"] !== true) throw new Untestable("there are more than 100 endpoints");
        return { iterator: page["iterator"] === null };
      },
    ),
    rule(
      "W11 endpoints.paging: pages are in the order of the whole list, without repeats",
      { lengths: [1, 1], sameOrder: true },
      async (service) => {
        const all = idsOf(await list(service, { limit: 100 }, "admin", true));
        const first = await list(service, { limit: 1 }, "admin", true);
        const { iterator } = pageOf(first);
        if (all.length < 2 || typeof iterator !== "string")
          throw new Untestable("the workspace has fewer than two webhook endpoints");
        const pages = [idsOf(first), idsOf(await list(service, { limit: 1, iterator }, "admin", true))];
        const again = idsOf(await list(service, { limit: 100 }, "admin", true));
        if (!isDeepStrictEqual(all, again))
          throw new Untestable("the workspace's endpoints changed during the run");
        return {
          lengths: pages.map(({ length }) => length),
          sameOrder: pages.flat().every((id, index) => id === all[index]),
        };
      },
    ),
  ].map(administrators),
  rejected(
    "W14 A-4 endpoints.no-token: a list of endpoints without a token is rejected",
    unauthenticated(),
    (service) => list(service, {}, "none"),
    { keeps: hasMessage },
  ),
  rejected(
    "W14 A-4 endpoints.read-only: a list of endpoints with a read-only key is rejected",
    forbidden,
    (service) => list(service, {}, "readOnly"),
    { keeps: hasMessage },
  ),
];

const noHttps = badInput("Webhook endpoint url must be an HTTPS URL");
const noEvents = badInput("At least one webhook event type is required");
const noEndpoint = notFound("Webhook endpoint");
const insecure = "http://receiver.invalid";

/** An endpoint, by what can be compared: of its texts whether they are those that were sent. */
function endpointFact(endpoint: unknown, sent: Json): Fact {
  if (!isPlainObject(endpoint)) return "no endpoint";
  const { url, description, enabled, eventTypes } = endpoint;
  return {
    url: url === sent["url"],
    description: description === sent["description"] ? "as sent" : wordOf(description ?? null),
    enabled: enabled === true,
    eventTypes: Array.isArray(eventTypes) ? eventTypes.map(wordOf) : null,
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
      const { eventTypes } = (await createdBy(service, input)).endpoint;
      return Array.isArray(eventTypes) ? eventTypes.map(wordOf) : "no list";
    },
    {
      // The interface does not say in which order an endpoint has its event types.
      keeps: (expected, found) =>
        Array.isArray(found) &&
        isDeepStrictEqual(found.toSorted(), (expected as readonly string[]).toSorted()),
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
  rejected("W6 A-6 endpoints.http-url: a url with plain http is rejected", noHttps, (service) =>
    create(service, service.url("http", insecure)),
  ),
  rejected("W6 A-6 endpoints.user-info-url: a url with user info is rejected", noHttps, (service) =>
    create(service, service.url("user-info", "https://user:password@receiver.invalid")),
  ),
  rejected("W6 A-6 endpoints.white-space-url: a url with white space is rejected", noHttps, (service) =>
    create(service, service.url("white space")),
  ),
  rejected("W4 A-30 endpoints.no-events: an empty list of event types is rejected", noEvents, (service) =>
    create(service, service.url("no-events"), { eventTypes: [] }),
  ),
  rejected(
    "W5 A-30 endpoints.unknown-event: an unknown event type is rejected",
    badInput("Unsupported webhook event type"),
    (service) => create(service, service.url("unknown-event"), { eventTypes: ["task.unheard-of"] }),
  ),
];

const update = (service: Service, endpointId: string, input: Json) =>
  service.operation("UpdateWebhookEndpoint", { input: { endpointId, ...input } });
const rotate = (service: Service, endpointId: string, gracePeriodSeconds?: number) =>
  service.operation("RotateWebhookEndpointSecret", {
    input: { endpointId, ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }) },
  });

const before = { description: "workspace-tasks compare", ...quiet };

/** A rule over one update of an endpoint, which leaves what it does not name. */
const updates = (name: string, says: string, patch: Json, after: Readonly<Record<string, Fact>>): Rule =>
  rule(
    `W7 endpoints.${name}: ${says}`,
    { url: true, description: "as sent", enabled: true, eventTypes: quiet.eventTypes, ...after },
    async (service) => {
      const { id, url } = await createdBy(service, before);
      const response = accepted(await update(service, id, patch), "the update");
      return endpointFact(response.data?.["updateWebhookEndpoint"], { ...before, ...patch, url });
    },
  );

/** A rule that a request about an endpoint, which exists, is rejected. */
const rejectedChange = (
  title: string,
  expected: Rejection,
  ask: (service: Service, id: string) => Promise<ServiceResponse>,
  setting: Rule["setting"] = toErrorSetting,
): Rule =>
  rejected(title, expected, async (service) => ask(service, (await createdBy(service)).id), {
    setting,
  });

const graceRule = (name: string, says: string, seconds: number): Rule =>
  rejectedChange(
    `W13 A-30 endpoints.${name}: ${says} is rejected`,
    badInput("Secret grace period must be between 0 and 604800 seconds"),
    (service, id) => rotate(service, id, seconds),
    bound((secretGraceSecondsMax) => ({ bounds: { secretGraceSecondsMax } })),
  );

const changeRules: readonly Rule[] = [
  rule(
    "W9 endpoints.updated-at: an update changes updatedAt and not createdAt",
    { updatedAt: "later", createdAt: "unchanged" },
    async (service) => {
      const made = await createdBy(service, before);
      await service.sender.wait(1_100, "for another time");
      const response = accepted(await update(service, made.id, { description: null }), "the update");
      const after = response.data?.["updateWebhookEndpoint"];
      const time = (endpoint: unknown, name: string) => new Date(valueAt(endpoint, name) as string).getTime();
      const [old, now] = [time(made.endpoint, "updatedAt"), time(after, "updatedAt")];
      if (Number.isNaN(old + now)) throw new Untestable("no times were returned");
      const isSame = time(made.endpoint, "createdAt") === time(after, "createdAt");
      return {
        updatedAt: now > old ? "later" : now === old ? "unchanged" : "earlier",
        createdAt: isSame ? "unchanged" : "changed",
      };
    },
  ),
  updates(
    "clear-description",
    "description null clears it, and leaves the rest",
    { description: null },
    { description: "empty" },
  ),
  updates(
    "pause",
    "enabled false pauses an endpoint, and leaves the rest",
    { enabled: false },
    { enabled: false },
  ),
  updates(
    "update-nulls",
    "url and enabled null leave them unchanged",
    { url: null, enabled: null, description: "again" },
    {},
  ),
  updates("all-events", "eventTypes null resets to all events", { eventTypes: null }, { eventTypes: null }),
  rejectedChange(
    "W8 A-30 endpoints.update-nothing: an update that changes nothing is rejected",
    badInput("At least one endpoint field must be updated"),
    (service, id) => update(service, id, {}),
  ),
  rejectedChange(
    "W4 A-30 endpoints.update-no-events: an update with an empty list of event types is rejected",
    noEvents,
    (service, id) => update(service, id, { eventTypes: [] }),
  ),
  rejectedChange(
    "W6 A-6 endpoints.update-http-url: an update to plain http is rejected",
    noHttps,
    (service, id) => update(service, id, { url: service.url("change", insecure) }),
  ),
  rejected(
    "W10 A-7 endpoints.update-unknown: an update of an unknown endpoint is rejected",
    noEndpoint,
    (service) => update(service, unknownId, { enabled: false }),
  ),
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
  graceRule("rotate-negative", "a negative grace period", -1),
  graceRule("rotate-long", "a grace period above 604800 s", 604_801),
  rejected(
    "W10 A-7 endpoints.rotate-unknown: a rotation of an unknown endpoint is rejected",
    noEndpoint,
    (service) => rotate(service, unknownId),
  ),
  rule(
    "W10 endpoints.delete: a deletion returns true",
    { outcome: "accepted", returned: true },
    async (service) => {
      const response = await remove(service, (await createdBy(service)).id);
      return { outcome: outcomeOf(response), returned: response.data?.["deleteWebhookEndpoint"] === true };
    },
  ),
  rejectedChange(
    "W10 A-7 endpoints.delete-again: a second deletion is rejected",
    noEndpoint,
    async (service, id) => {
      await remove(service, id);
      return remove(service, id);
    },
  ),
  rejectedChange(
    "W10 A-7 endpoints.update-deleted: an update of a deleted endpoint is rejected",
    noEndpoint,
    async (service, id) => {
      await remove(service, id);
      return update(service, id, { enabled: true });
    },
  ),
];

const withToken = (token: TokenName) => (service: Service) =>
  create(service, service.url(token), {}, { token });

const withoutPermission: readonly Rule[] = [
  rejected(
    "W14 A-4 endpoints.create-no-token: a mutation without a token is rejected",
    unauthenticated(),
    withToken("none"),
    { keeps: hasMessage },
  ),
  // Here the interface says both, the message and the code.
  rule(
    "K7 W14 endpoints.create-read-only: a mutation with a read-only key is rejected",
    forbidden,
    async (service) => rejectionOf(await withToken("readOnly")(service)),
  ),
  rejected(
    "W14 A-23 endpoints.create-user-token: a userToken is rejected for a workspace's operation",
    forbidden,
    withToken("user"),
    { keeps: isNotAccepted },
  ),
];

export const endpointWriteRules: readonly Rule[] = [
  ...[...creationRules, ...changeRules].map(administrators),
  ...withoutPermission,
].map((each) => ({ ...each, needs: "writes" }));
