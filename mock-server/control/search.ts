import * as z from "zod";
import { isoTime } from "../time/duration.ts";
import type { World } from "../world/world.ts";
import { textsOfDelivery, viewDeliverySummary } from "./deliveries.ts";
import { id, inQuery, listOf, searchText, time } from "./fields.ts";
import { createTextMatch, type TextMatch } from "./lists.ts";
import { textsOfRequest } from "./requests.ts";
import { defineRoute } from "./route.ts";
import { textsOfTask } from "./tasks.ts";

const searchHit = z.object({
  kind: z.enum(["task", "client", "delivery", "endpoint", "request"]),
  id,
  title: z.string(),
  detail: z.string(),
  at: time.nullable(),
  isId: z.boolean().describe("The text is its id, or that of its event."),
});

export type SearchHit = z.output<typeof searchHit>;

const limitDefault = 6;

export const searchRoutes = {
  search: defineRoute("GET /search", {
    summary: "Tasks, clients, deliveries, endpoints and requests that contain a text, newest first.",
    input: z.strictObject({
      text: searchText,
      limit: inQuery(z.int().min(1).max(100)).optional().describe(`Of each kind. Default: ${limitDefault}.`),
    }),
    response: listOf(searchHit),
    run({ worlds }, { text, limit = limitDefault }) {
      const search: Search = { world: worlds.current, id: text, contains: createTextMatch(text), limit };
      const hits = [tasks, clients, endpoints, deliveries, requests].flatMap((find) => find(search));
      // What was looked for by its id comes first.
      return { data: [...hits.filter(({ isId }) => isId), ...hits.filter(({ isId }) => !isId)] };
    },
  }),
};

interface Search {
  readonly world: World;
  readonly id: string;
  readonly contains: TextMatch;
  readonly limit: number;
}

/** The newest items that match, as hits. */
function newest<Item>(
  kind: SearchHit["kind"],
  items: Iterable<Item>,
  limit: number,
  toHit: (item: Item) => Omit<SearchHit, "kind"> | null,
): readonly SearchHit[] {
  const hits: SearchHit[] = [];
  for (const item of [...items].reverse()) {
    const hit = toHit(item);
    if (hit) hits.push({ kind, ...hit });
    if (hits.length === limit) break;
  }
  return hits;
}

const tasks = ({ world, id, contains, limit }: Search) =>
  newest("task", world.state.tasks.values(), limit, (task) => {
    if (!contains(...textsOfTask(world, task))) return null;
    const client = world.state.clients.get(task.clientId)?.name ?? "";
    const detail = `${task.status} · ${client}`;
    return { id: task.id, title: task.type, detail, at: isoTime(task.startedAtMs), isId: task.id === id };
  });

const clients = ({ world, id: wanted, contains, limit }: Search) =>
  newest("client", world.state.clients.values(), limit, ({ id, name, externalId }) => {
    if (!contains(id, name, externalId)) return null;
    return { id, title: name, detail: externalId, at: null, isId: id === wanted || externalId === wanted };
  });

const endpoints = ({ world, id: wanted, contains, limit }: Search) =>
  newest("endpoint", world.state.endpoints.values(), limit, ({ id, url, description, enabled }) => {
    if (!contains(id, url, description)) return null;
    return { id, title: url, detail: enabled ? description : "paused", at: null, isId: id === wanted };
  });

const deliveries = ({ world, id: wanted, contains, limit }: Search) =>
  newest("delivery", world.state.deliveries.values(), limit, (delivery) => {
    if (!contains(...textsOfDelivery(world, delivery))) return null;
    const view = viewDeliverySummary(world, delivery);
    const { id, event, eventId, status, lastStatus, rejected, client, url, createdAt } = view;
    const state = rejected ? `rejected ${lastStatus ?? "without a response"}` : status;
    const detail = [state, client, url ?? "a deleted endpoint"].filter((part) => part !== null).join(" · ");
    return { id, title: event, detail, at: createdAt, isId: id === wanted || eventId === wanted };
  });

const requests = ({ world, contains, limit }: Search) =>
  newest("request", world.journal.entries(), limit, (entry) => {
    if (!contains(...textsOfRequest(entry))) return null;
    const title = entry.operationName ?? (entry.operations.join(", ") || "(no valid document)");
    const detail = entry.errors[0]?.message ?? `HTTP ${entry.status ?? "cut"}`;
    return { id: String(entry.sequence), title, detail, at: isoTime(entry.atMs), isId: false };
  });
