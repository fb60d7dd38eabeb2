// The endpoints of a run have URLs without a receiver, and events that are rare enough to cause no delivery meanwhile.

import { isDeepStrictEqual } from "node:util";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { fieldsOf, type ResponseShape, type Shape } from "../observe/observation.ts";
import {
  call,
  type Draft,
  type OperationName,
  type SendContext,
  shared,
  type TokenName,
} from "../rules/probe.ts";
import { at, hasErrors, outcomeOf, rejectionOf, timeOf, wordOf } from "../rules/read-response.ts";
import {
  hasMessage,
  isNotAccepted,
  rejectedAbove,
  rejections,
  rejectionsKeeping,
  withPermission,
} from "../rules/rejection.ts";
import { type Fact, type Rule, rule, ruleOver } from "../rules/rule.ts";
import { unknownId } from "./lists.ts";

type Input = Readonly<Record<string, unknown>>;

const quiet = ["documents.synced"];

/** @param origin of the URL; default: one that never resolves */
const create = (name: string, input: Input, origin?: string): Draft =>
  call("CreateWebhookEndpoint", ({ url }) => ({ input: { url: url(name, origin), ...input } }));

const createQuiet = (name: string, origin?: string) => create(name, { eventTypes: quiet }, origin);

const plain = shared("endpoints.create", create("plain", {}));

const createdEndpoint = "createWebhookEndpoint.endpoint";
const created = shared(
  "endpoint-change.create",
  create("change", { description: "workspace-tasks compare", eventTypes: quiet }),
);

const change = (operation: OperationName, input: (context: SendContext) => Input): Draft =>
  call(operation, (context) => ({
    input: { endpointId: context.of(created, `${createdEndpoint}.id`), ...input(context) },
  }));
const update = (input: Input) => change("UpdateWebhookEndpoint", () => input);
const pause = update({ enabled: false });
const resume = update({ enabled: true });
const withNulls = update({ url: null, enabled: null, description: "again" });
const rotate = (input: Input) => change("RotateWebhookEndpointSecret", () => input);
const rotateFor = (gracePeriodSeconds: number) => rotate({ gracePeriodSeconds });
const remove = call("DeleteWebhookEndpoint", ({ of }) => ({
  endpointId: of(created, `${createdEndpoint}.id`),
}));

const insecure = "http://receiver.invalid";
const userInfo = "https://user:password@receiver.invalid";
const noEvents = { eventTypes: [] };
const unknownEvents = { eventTypes: ["task.unheard-of"] };
const toPlainHttp = change("UpdateWebhookEndpoint", ({ url }) => ({ url: url("change", insecure) }));
const updateOfUnknown = call("UpdateWebhookEndpoint", { input: { endpointId: unknownId, enabled: false } });
const rotationOfUnknown = call("RotateWebhookEndpointSecret", { input: { endpointId: unknownId } });

/** The endpoint of a response, by what can be compared. */
function endpointAt(response: ResponseShape, path: string): Fact {
  const endpoint = at(response, path);
  if (!isPlainObject(endpoint)) return outcomeOf(response);
  const { url = null, description = null, enabled = null, eventTypes = null } = fieldsOf(endpoint);
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

const updates = (id: string, title: string, send: Draft): Rule =>
  rule(id, title, send, [], (response) => endpointAt(response, "updateWebhookEndpoint"));

/** The interface does not say in which order an endpoint has its event types. */
const sorted = (endpoint: Fact): Fact => {
  const { eventTypes = null, ...others } = endpoint as Readonly<Record<string, Fact>>;
  return { ...others, eventTypes: Array.isArray(eventTypes) ? eventTypes.toSorted() : eventTypes };
};

const secretOf = (response: ResponseShape, path: string): string =>
  String(at(response, `${path}.signingSecret`));

const creationRules: readonly Rule[] = [
  rule(
    "endpoints.create",
    "a new endpoint is enabled, has no description, every event and a whsec_ secret",
    plain,
    [],
    (response) => ({
      endpoint: endpointAt(response, createdEndpoint),
      secret: secretOf(response, "createWebhookEndpoint").startsWith("secret:whsec"),
    }),
  ),
  rule(
    "endpoints.duplicate-events",
    "repeated event types are removed, in the order of first appearance",
    create("duplicates", { eventTypes: ["task.failed", "documents.synced", "task.failed"] }),
    {
      assumptions: ["A-31"],
      keeps: (expected, received) => isDeepStrictEqual(sorted(expected), sorted(received)),
    },
    (response) => endpointAt(response, createdEndpoint),
  ),
  rule(
    "endpoints.loopback-url",
    "plain http to the own computer is accepted",
    createQuiet("loopback", "http://127.0.0.1:9"),
    { assumptions: ["A-6"], settings: (received) => ({ allowLoopbackHttp: received === "accepted" }) },
    (response) => (hasErrors(response) ? "rejected" : outcomeOf(response)),
  ),
  ...rejections([
    ["endpoints.http-url", "a url with plain http is rejected", createQuiet("http", insecure), "A-6"],
    [
      "endpoints.user-info-url",
      "a url with user info is rejected",
      createQuiet("user-info", userInfo),
      "A-6",
    ],
    ["endpoints.white-space-url", "a url with white space is rejected", createQuiet("white space"), "A-6"],
    ["endpoints.no-events", "an empty list of event types is rejected", create("no-events", noEvents)],
    ["endpoints.unknown-event", "an unknown event type is rejected", create("unknown-event", unknownEvents)],
  ]),
];

const withToken = (token: TokenName): Draft => ({ ...create(token, {}), token });

const rejectedCreations: readonly Rule[] = [
  ...rejectionsKeeping(hasMessage, [
    ["endpoints.create-no-token", "a mutation without a token is rejected", withToken("none"), "A-4"],
  ]),
  // Here the interface says both, the message and the code.
  rule(
    "endpoints.create-read-only",
    "a mutation with a read-only key is rejected",
    withToken("readOnly"),
    [],
    rejectionOf,
  ),
  ...rejectionsKeeping(isNotAccepted, [
    [
      "endpoints.create-user-token",
      "a userToken is rejected for a workspace's operation",
      withToken("user"),
      "A-23",
    ],
  ]),
];

const clearing = shared("endpoints.clear-description", { ...update({ description: null }), waitMs: 1_100 });

const graceMax = (secretGraceSecondsMax: number) => ({ bounds: { secretGraceSecondsMax } });

/** All of them change the same endpoint, in this order. */
const changeRules: readonly Rule[] = [
  ruleOver(
    "endpoints.updated-at",
    "an update changes updatedAt and not createdAt",
    { created, clearing },
    [],
    ({ created: before, clearing: after }) => {
      const times = (name: string) => [
        timeOf(at(before, `${createdEndpoint}.${name}`)),
        timeOf(at(after, `updateWebhookEndpoint.${name}`)),
      ];
      const [old = null, now = null] = times("updatedAt");
      if (old === null || now === null) return { unknown: "no times were returned" };
      const [first, later] = times("createdAt");
      return {
        updatedAt: now > old ? "later" : now === old ? "unchanged" : "earlier",
        createdAt: first === later ? "unchanged" : "changed",
      };
    },
  ),
  updates("endpoints.clear-description", "description null clears it, and leaves the rest", clearing),
  updates("endpoints.pause", "enabled false pauses an endpoint, and leaves the rest", pause),
  updates("endpoints.update-nulls", "url and enabled null leave them unchanged", withNulls),
  updates("endpoints.all-events", "eventTypes null resets to all events", update({ eventTypes: null })),
  ...rejections([
    ["endpoints.update-nothing", "an update that changes nothing is rejected", update({})],
    [
      "endpoints.update-no-events",
      "an update with an empty list of event types is rejected",
      update(noEvents),
    ],
    ["endpoints.update-http-url", "an update to plain http is rejected", toPlainHttp, "A-6"],
    ["endpoints.update-unknown", "an update of an unknown endpoint is rejected", updateOfUnknown, "A-7"],
  ]),
  ruleOver(
    "endpoints.rotate",
    "each rotation returns another whsec_ secret",
    { created, first: rotate({}), second: rotateFor(0) },
    [],
    (responses) => {
      const secrets = [
        secretOf(responses.created, "createWebhookEndpoint"),
        secretOf(responses.first, "rotateWebhookEndpointSecret"),
        secretOf(responses.second, "rotateWebhookEndpointSecret"),
      ];
      return {
        secrets: secrets.map((secret) => secret.startsWith("secret:whsec")),
        distinct: new Set(secrets).size,
      };
    },
  ),
  rejectedAbove("endpoints.rotate-negative", "a negative grace period is rejected", rotateFor(-1), graceMax),
  rejectedAbove(
    "endpoints.rotate-long",
    "a grace period above 604800 s is rejected",
    rotateFor(604_801),
    graceMax,
  ),
  ...rejections([
    ["endpoints.rotate-unknown", "a rotation of an unknown endpoint is rejected", rotationOfUnknown, "A-7"],
  ]),
  rule("endpoints.delete", "a deletion returns true", remove, [], (response) => ({
    outcome: outcomeOf(response),
    returned: at(response, "deleteWebhookEndpoint") === true,
  })),
  ...rejections([
    ["endpoints.delete-again", "a second deletion is rejected", remove, "A-7"],
    ["endpoints.update-deleted", "an update of a deleted endpoint is rejected", resume, "A-7"],
  ]),
];

export const endpointWriteRules: readonly Rule[] = [
  ...[...creationRules, ...changeRules].map((each) => withPermission(plain, each)),
  ...rejectedCreations,
];
