import { operationDocuments } from "../../generated/operation-documents.ts";
import { unknownId } from "./list-probes.ts";
import { from, group, type Probe, type Template, url } from "./probe.ts";

const operation = (document: string) => (sends: string, input: Readonly<Record<string, Template>>) => ({
  sends,
  request: { document, variables: { input } },
});

const create = operation(operationDocuments.CreateWebhookEndpoint.text);
const update = operation(operationDocuments.UpdateWebhookEndpoint.text);
const rotate = operation(operationDocuments.RotateWebhookEndpointSecret.text);

const remove = (sends: string, endpointId: Template) => ({
  sends,
  request: { document: operationDocuments.DeleteWebhookEndpoint.text, variables: { endpointId } },
});

/** Rare enough that an endpoint of a run gets no delivery while it exists. */
const quiet = ["documents.synced"];

const defaults = { permission: "write", router: "base", token: "admin" } as const;

const creation = group("endpoint-create", defaults, {
  plain: create("an endpoint with a url alone", { url: url("plain") }),
  duplicates: create("an endpoint with an event type twice", {
    url: url("duplicates"),
    eventTypes: ["task.failed", "documents.synced", "task.failed"],
  }),
  http: create("an endpoint with plain http", {
    url: url("http", "http://receiver.invalid"),
    eventTypes: quiet,
  }),
  loopback: create("an endpoint with plain http on the own computer", {
    url: url("loopback", "http://127.0.0.1:9"),
    eventTypes: quiet,
  }),
  "user-info": create("an endpoint with user info in its url", {
    url: url("user-info", "https://user:password@receiver.invalid"),
    eventTypes: quiet,
  }),
  "white-space": create("an endpoint with white space in its url", {
    url: url("white space"),
    eventTypes: quiet,
  }),
  "no-events": create("an endpoint with an empty list of event types", {
    url: url("no-events"),
    eventTypes: [],
  }),
  "unknown-event": create("an endpoint with an unknown event type", {
    url: url("unknown-event"),
    eventTypes: ["task.unheard-of"],
  }),
  "no-token": { ...create("an endpoint without a token", { url: url("no-token") }), token: "none" },
  "read-only": {
    ...create("an endpoint with a read-only key", { url: url("read-only") }),
    token: "readOnly",
  },
  user: { ...create("an endpoint with a userToken", { url: url("user") }), token: "user" },
});

const id = from("endpoint-change.create", "createWebhookEndpoint.endpoint.id");

const changes = group("endpoint-change", defaults, {
  create: create("an endpoint with a description", {
    url: url("change"),
    description: "workspace-tasks compare",
    eventTypes: quiet,
  }),
  nothing: update("an update with endpointId alone", { endpointId: id }),
  "no-description": {
    ...update("an update with description null", { endpointId: id, description: null }),
    waitMs: 1_100,
  },
  pause: update("an update with enabled false", { endpointId: id, enabled: false }),
  nulls: update("an update with url and enabled null", {
    endpointId: id,
    url: null,
    enabled: null,
    description: "again",
  }),
  "all-events": update("an update with eventTypes null", { endpointId: id, eventTypes: null }),
  "no-events": update("an update with an empty list of event types", { endpointId: id, eventTypes: [] }),
  http: update("an update with plain http", {
    endpointId: id,
    url: url("change", "http://receiver.invalid"),
  }),
  unknown: update("an update of an unknown endpoint", { endpointId: unknownId, enabled: false }),
  rotate: rotate("a rotation", { endpointId: id }),
  "rotate-at-once": rotate("a rotation with grace period 0", { endpointId: id, gracePeriodSeconds: 0 }),
  "rotate-negative": rotate("a rotation with grace period -1", { endpointId: id, gracePeriodSeconds: -1 }),
  "rotate-long": rotate("a rotation with a grace period of 604801 s", {
    endpointId: id,
    gracePeriodSeconds: 604_801,
  }),
  "rotate-unknown": rotate("a rotation of an unknown endpoint", { endpointId: unknownId }),
  delete: remove("the deletion of the endpoint", id),
  "delete-again": remove("its deletion again", id),
  "update-deleted": update("an update of the deleted endpoint", { endpointId: id, enabled: true }),
});

export const endpointWriteProbes: readonly Probe[] = [...creation, ...changes];
