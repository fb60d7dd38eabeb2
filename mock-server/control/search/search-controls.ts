import type { JournalEntry } from "../../state/journal-entry.ts";
import { isoTime } from "../../time/iso-time.ts";
import type { World } from "../../world/world.ts";
import type { WorldHolder } from "../../world/world-holder.ts";
import type { ControlsOf } from "../contract/route.ts";
import { textsOfDelivery, viewDeliverySummary } from "../deliveries/delivery-controls.ts";
import { createTextMatch, type TextMatch } from "../lists/text-match.ts";
import { textsOfRequest } from "../requests/request-controls.ts";
import { textsOfTask } from "../tasks/task-controls.ts";
import type { SearchHit, searchRoutes } from "./search-routes.ts";

const limitDefault = 6;

export function createSearchControls(worlds: WorldHolder): ControlsOf<typeof searchRoutes> {
  return {
    search({ text, limit = limitDefault }) {
      const world = worlds.current;
      const search: Search = { world, id: text, contains: createTextMatch(text), limit };
      const hits = [tasks, clients, endpoints, deliveries, requests].flatMap((find) => find(search));
      // What was looked for by its id comes first.
      return { data: [...hits.filter(({ isId }) => isId), ...hits.filter(({ isId }) => !isId)] };
    },
  };
}

interface Search {
  readonly world: World;
  readonly id: string;
  readonly contains: TextMatch;
  readonly limit: number;
}

/** The newest items that match, as hits. */
function newest<Item>(
  items: Iterable<Item>,
  limit: number,
  toHit: (item: Item) => SearchHit | null,
): readonly SearchHit[] {
  const hits: SearchHit[] = [];
  for (const item of [...items].reverse()) {
    const hit = toHit(item);
    if (hit) hits.push(hit);
    if (hits.length === limit) break;
  }
  return hits;
}

const tasks = ({ world, id, contains, limit }: Search) =>
  newest(world.state.tasks.values(), limit, (task) => {
    if (!contains(...textsOfTask(world, task))) return null;
    const client = world.state.clients.get(task.clientId)?.name ?? "";
    const detail = `${task.status} · ${client}`;
    const at = isoTime(task.startedAtMs);
    return { kind: "task", id: task.id, title: task.type, detail, at, isId: task.id === id };
  });

const clients = ({ world, id, contains, limit }: Search) =>
  newest(world.state.clients.values(), limit, (client) => {
    if (!contains(client.id, client.name, client.externalId)) return null;
    const isId = client.id === id || client.externalId === id;
    return { kind: "client", id: client.id, title: client.name, detail: client.externalId, at: null, isId };
  });

const endpoints = ({ world, id, contains, limit }: Search) =>
  newest(world.state.endpoints.values(), limit, (endpoint) => {
    if (!contains(endpoint.id, endpoint.url, endpoint.description)) return null;
    const detail = endpoint.enabled ? endpoint.description : "paused";
    return {
      kind: "endpoint",
      id: endpoint.id,
      title: endpoint.url,
      detail,
      at: null,
      isId: endpoint.id === id,
    };
  });

const deliveries = ({ world, id, contains, limit }: Search) =>
  newest(world.state.deliveries.values(), limit, (delivery) => {
    if (!contains(...textsOfDelivery(world, delivery))) return null;
    const { status, lastStatus, rejected, client, url } = viewDeliverySummary(world, delivery);
    const state = rejected ? `rejected ${lastStatus ?? "without a response"}` : status;
    return {
      kind: "delivery",
      id: delivery.id,
      title: delivery.eventName,
      detail: [state, client, url ?? "a deleted endpoint"].filter((part) => part !== null).join(" · "),
      at: isoTime(delivery.createdAtMs),
      isId: delivery.id === id || delivery.eventId === id,
    };
  });

const requests = ({ world, contains, limit }: Search) =>
  newest(world.journal.entries(), limit, (entry: JournalEntry) => {
    if (!contains(...textsOfRequest(entry))) return null;
    const title = entry.operationName ?? (entry.operations.join(", ") || "(no valid document)");
    const detail = entry.errors[0]?.message ?? `HTTP ${entry.status ?? "cut"}`;
    return {
      kind: "request",
      id: String(entry.sequence),
      title,
      detail,
      at: isoTime(entry.atMs),
      isId: false,
    };
  });
