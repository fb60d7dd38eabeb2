import { isKnownEventName } from "@workspace-tasks/events/catalog";
import { exampleFields } from "@workspace-tasks/events/example";
import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import { syncDocuments } from "../../rules/clients.ts";
import { deliveriesOfEvent } from "../../rules/delivery-retention.ts";
import { addToCatalog, emitCustomEvent, isCatalogEvent, listCatalog } from "../../rules/events.ts";
import { conflict, found, notFound } from "../../rules/service-error.ts";
import type { EventRecord, WebhookEndpointRecord } from "../../state/records.ts";
import { isoTime } from "../../time/duration.ts";
import type { World } from "../../world/world.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import { viewDeliverySummary } from "../deliveries/delivery-controls.ts";
import type { eventRoutes } from "./event-routes.ts";

export function createEventControls(worlds: WorldHolder): ControlsOf<typeof eventRoutes> {
  return {
    syncDocuments(input) {
      const { clientId, documents } = syncDocuments(worlds.current, input);
      return { clientId, inputDocumentIds: documents.map(({ inputDocumentId }) => inputDocumentId) };
    },
    addCatalogEvent: (event) => ({ name: addToCatalog(worlds.current, event).name }),
    listCatalog: () => ({
      data: listCatalog(worlds.current).map(({ name, description, version }) => {
        const example = isKnownEventName(name) ? exampleFields(name) : {};
        return { name, description, version, example };
      }),
    }),
    sendEvent({ name, payload, endpointId, ...input }) {
      const world = worlds.current;
      const endpoint = endpointId === undefined ? undefined : findEnabledEndpoint(world, endpointId);
      const workspaceId = endpoint?.workspaceId ?? input.workspaceId ?? worlds.seedData.workspaceId;
      if (!isCatalogEvent(world, name)) {
        const names = listCatalog(world).map((entry) => entry.name);
        const hint = didYouMean(name, names) || "; add it with POST /catalog";
        throw notFound(`event "${name}" is not in the catalog${hint}`);
      }
      if (!world.state.workspaces.has(workspaceId)) throw notFound("Workspace not found");
      return { eventId: emitCustomEvent(world, { workspaceId, name, payload, endpointId }) };
    },
    getEvent(eventId) {
      const event = found(worlds.current.state.events.get(eventId), `event "${eventId}" not found`);
      const [view] = viewEvents(worlds.current, [event]);
      return { ...(view as EventView), workspaceId: event.workspaceId, body: event.body };
    },
  };
}

function findEnabledEndpoint({ state }: World, endpointId: string): WebhookEndpointRecord {
  const endpoint = found(state.endpoints.get(endpointId), "Webhook endpoint not found");
  if (!endpoint.enabled) throw conflict("the endpoint is disabled; enable it first");
  return endpoint;
}

type EventView = ReturnType<typeof viewEvents>[number];

/** Events with their deliveries. */
export function viewEvents(world: World, events: readonly EventRecord[]) {
  return events.map(({ id, name, occurredAtMs }) => ({
    eventId: id,
    name,
    occurredAt: isoTime(occurredAtMs),
    deliveries: deliveriesOfEvent(world, id).map((delivery) => viewDeliverySummary(world, delivery)),
  }));
}
