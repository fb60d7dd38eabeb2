import { isPlainObject } from "../../plain-object.ts";
import type { ResponseShape, Shape } from "../observe/observation.ts";
import { at, hasErrors, outcomeOf, rejectedHere, timeOf, wordOf } from "./read-response.ts";
import { rejection, rejectionWith, toErrorSetting, withPermission } from "./rejection-rules.ts";
import { type Fact, isUnknown, type Rule, responseOf, ruleOf, ruleOver } from "./rule.ts";
import { limitFromMessage } from "./webhook-rules.ts";

type Fields = Readonly<Record<string, Shape>>;

/** The endpoint of a response, by what can be compared. */
function endpointAt(response: ResponseShape, path: string): Fact {
  const endpoint = at(response, path);
  if (!isPlainObject(endpoint)) return outcomeOf(response);
  const { url = null, description = null, enabled = null, eventTypes = null } = endpoint as Fields;
  const events = Array.isArray(eventTypes)
    ? (eventTypes as readonly Shape[]).map((name) => wordOf(name) ?? "…")
    : null;
  return {
    url: kindOf(url),
    description: kindOf(description),
    enabled: enabled === true,
    eventTypes: events,
  };
}

const kindOf = (value: Shape): string =>
  value === "empty" ? "empty" : value === null ? "null" : "as sent or before";

const created = "createWebhookEndpoint.endpoint";
const updated = "updateWebhookEndpoint";

const change = (id: string, probe: string, title: string): Rule =>
  ruleOf(id, probe, { title }, (response) => endpointAt(response, updated));

const limitRule = (id: string, probe: string, title: string): Rule =>
  rejectionWith(id, probe, {
    title,
    settings(received, expected) {
      const [, max] = /between \d+ and (\d+)/.exec(JSON.stringify(received)) ?? [];
      return max === undefined || limitFromMessage(received) === limitFromMessage(expected)
        ? toErrorSetting(received, expected)
        : { bounds: { secretGraceSecondsMax: Number(max) } };
    },
  });

const secretOf = (response: ResponseShape | undefined, path: string): string =>
  response ? String(at(response, `${path}.signingSecret`)) : "";

const creationRules: readonly Rule[] = [
  ruleOf(
    "endpoints.create",
    "endpoint-create.plain",
    { title: "a new endpoint is enabled, has no description, every event and a whsec_ secret" },
    (response) => ({
      endpoint: endpointAt(response, created),
      secret: secretOf(response, "createWebhookEndpoint").startsWith("secret:whsec"),
    }),
  ),
  ruleOf(
    "endpoints.duplicate-events",
    "endpoint-create.duplicates",
    { title: "repeated event types are removed, in the order of first appearance" },
    (response) => endpointAt(response, created),
  ),
  rejection("endpoints.http-url", "endpoint-create.http", "a url with plain http is rejected", "A-6"),
  ruleOf(
    "endpoints.loopback-url",
    "endpoint-create.loopback",
    {
      title: "plain http to the own computer is accepted",
      assumptions: ["A-6"],
      settings: (received) =>
        received === "accepted" ? { allowLoopbackHttp: true } : { allowLoopbackHttp: false },
    },
    (response) => (hasErrors(response) ? "rejected" : outcomeOf(response)),
  ),
  rejection(
    "endpoints.user-info-url",
    "endpoint-create.user-info",
    "a url with user info is rejected",
    "A-6",
  ),
  rejection(
    "endpoints.white-space-url",
    "endpoint-create.white-space",
    "a url with white space is rejected",
    "A-6",
  ),
  rejection("endpoints.no-events", "endpoint-create.no-events", "an empty list of event types is rejected"),
  rejection("endpoints.unknown-event", "endpoint-create.unknown-event", "an unknown event type is rejected"),
  rejection(
    "endpoints.create-no-token",
    "endpoint-create.no-token",
    "a mutation without a token is rejected",
    "A-4",
  ),
  rejection(
    "endpoints.create-read-only",
    "endpoint-create.read-only",
    "a mutation with a read-only key is rejected",
    "A-4",
  ),
  rejection(
    "endpoints.create-user-token",
    "endpoint-create.user",
    "a userToken is rejected for a workspace's operation",
    "A-23",
  ),
];

const changeRules: readonly Rule[] = [
  rejection(
    "endpoints.update-nothing",
    "endpoint-change.nothing",
    "an update that changes nothing is rejected",
  ),
  change(
    "endpoints.clear-description",
    "endpoint-change.no-description",
    "description null clears it, and leaves the rest",
  ),
  ruleOver(
    "endpoints.updated-at",
    ["endpoint-change.create", "endpoint-change.no-description"],
    { title: "an update changes updatedAt and not createdAt" },
    ([before, after]) => {
      const time = (response: ResponseShape | undefined, path: string) =>
        response ? timeOf(at(response, path)) : null;
      const [old, now] = [time(before, `${created}.updatedAt`), time(after, `${updated}.updatedAt`)];
      if (old === null || now === null) return { unknown: "no times were returned" };
      return {
        updatedAt: now > old ? "later" : now === old ? "unchanged" : "earlier",
        createdAt:
          time(before, `${created}.createdAt`) === time(after, `${updated}.createdAt`)
            ? "unchanged"
            : "changed",
      };
    },
  ),
  change("endpoints.pause", "endpoint-change.pause", "enabled false pauses an endpoint, and leaves the rest"),
  change("endpoints.update-nulls", "endpoint-change.nulls", "url and enabled null leave them unchanged"),
  change("endpoints.all-events", "endpoint-change.all-events", "eventTypes null resets to all events"),
  rejection(
    "endpoints.update-no-events",
    "endpoint-change.no-events",
    "an update with an empty list of event types is rejected",
  ),
  rejection(
    "endpoints.update-http-url",
    "endpoint-change.http",
    "an update to plain http is rejected",
    "A-6",
  ),
  rejection(
    "endpoints.update-unknown",
    "endpoint-change.unknown",
    "an update of an unknown endpoint is rejected",
    "A-7",
  ),
  ruleOver(
    "endpoints.rotate",
    ["endpoint-change.create", "endpoint-change.rotate", "endpoint-change.rotate-at-once"],
    { title: "each rotation returns another whsec_ secret", assumptions: ["A-9"] },
    ([before, first, second]) => {
      const secrets = [
        secretOf(before, "createWebhookEndpoint"),
        secretOf(first, "rotateWebhookEndpointSecret"),
        secretOf(second, "rotateWebhookEndpointSecret"),
      ];
      return {
        secrets: secrets.map((secret) => secret.startsWith("secret:whsec")),
        distinct: new Set(secrets).size,
      };
    },
  ),
  limitRule(
    "endpoints.rotate-negative",
    "endpoint-change.rotate-negative",
    "a negative grace period is rejected",
  ),
  limitRule(
    "endpoints.rotate-long",
    "endpoint-change.rotate-long",
    "a grace period above 604800 s is rejected",
  ),
  rejection(
    "endpoints.rotate-unknown",
    "endpoint-change.rotate-unknown",
    "a rotation of an unknown endpoint is rejected",
    "A-7",
  ),
  ruleOf("endpoints.delete", "endpoint-change.delete", { title: "a deletion returns true" }, (response) => ({
    outcome: outcomeOf(response),
    returned: at(response, "deleteWebhookEndpoint") === true,
  })),
  rejection("endpoints.delete-again", "endpoint-change.delete-again", "a second deletion is rejected", "A-7"),
  rejection(
    "endpoints.update-deleted",
    "endpoint-change.update-deleted",
    "an update of a deleted endpoint is rejected",
    "A-7",
  ),
];

const onOtherRouter = (id: string, name: string, title: string): Rule =>
  ruleOf(id, `routers.${name}`, { title, assumptions: ["A-21"] }, (response, evidence) => {
    const own = responseOf(evidence, `drift.${name}`);
    if (isUnknown(own)) return own;
    // A service may take no document with several operations, wherever it is sent.
    return hasErrors(own) ? rejectedHere(own) : outcomeOf(response);
  });

const operationRules: readonly Rule[] = [
  onOtherRouter(
    "routers.webhooks-on-gateway",
    "CreateWebhookEndpoint",
    "webhook operations do not exist on the gateway",
  ),
  onOtherRouter(
    "routers.partner-on-base",
    "CreateConnectionJob",
    "partner operations do not exist on the base router",
  ),
  rejection(
    "partner.collect-unknown",
    "unknown.collect",
    "collecting an unknown connection is rejected",
    "A-13",
  ),
  rejection("partner.job-unknown", "unknown.job", "a job on an unknown connection is rejected", "A-14"),
  rejection("partner.works-unknown", "unknown.works", "works for an unknown job are rejected", "A-14"),
  rejection(
    "partner.artifacts-unknown",
    "unknown.artifacts",
    "artifacts for an unknown work are rejected",
    "A-26",
  ),
  rejection("partner.import-unknown", "unknown.import", "the import of an unknown job is rejected", "A-15"),
  rejection(
    "partner.job-no-token",
    "unknown.no-token",
    "a partner operation without a token is rejected",
    "A-4",
  ),
  rejection(
    "partner.job-read-only",
    "unknown.read-only",
    "a partner operation with a read-only key is rejected",
    "A-4",
  ),
  rejection(
    "partner.users-unknown",
    "unknown.users",
    "adding no users to an unknown workspace is rejected",
    "A-24",
  ),
  rejection(
    "partner.users-read-only",
    "unknown.users-read-only",
    "adding users with a read-only key is rejected",
    "A-24",
  ),
  rejection(
    "clients.documents-unknown",
    "unknown-client.documents",
    "documents for an unknown client are rejected",
  ),
  rejection(
    "clients.tax-prep-unknown",
    "unknown-client.tax-prep",
    "a TAX_PREP task for an unknown client is rejected",
  ),
];

/** Any member may do it with a read_write key. */
const memberProbe = "unknown-client.documents";

const isOfKey = ({ id }: Rule) => /-unknown$/.test(id);

/** They test the permission itself. */
const ofOtherTokens = new Set([
  "endpoint-create.no-token",
  "endpoint-create.read-only",
  "endpoint-create.user",
]);

export const writeRules: readonly Rule[] = [
  ...[...creationRules, ...changeRules].map((rule) =>
    rule.probes.some((probe) => ofOtherTokens.has(probe))
      ? rule
      : withPermission("endpoint-create.plain", rule),
  ),
  ...operationRules.map((rule) => (isOfKey(rule) ? withPermission(memberProbe, rule) : rule)),
];
