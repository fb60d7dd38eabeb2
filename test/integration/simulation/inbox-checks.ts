import { decodePosition } from "../../../receiver-kit/event/event-order.ts";
import type { InboxRowSummary } from "../../../receiver-kit/inbox/inbox.ts";
import type { TaskEvent } from "./effects.ts";
import type { Receivers } from "./receivers.ts";
import type { Service } from "./service.ts";
import { type SimulationWorld, storedSource } from "./world.ts";

const farFutureMs = 11 * 60_000;

/** Checks the rows of the inbox after each step. */
export interface InboxChecks {
  run(): Promise<void>;
  /** The row's event as the service sent it; undefined for rows without one. */
  eventOf(row: InboxRowSummary): Promise<TaskEvent | undefined>;
}

export function createInboxChecks(
  { check, trace, settings, clock }: SimulationWorld,
  service: Service,
  { store, effects, network }: Receivers,
): InboxChecks {
  const source = storedSource(settings);
  const seen = new Set<number>();
  const rowCounts = new Map<string, number>();
  const heads = new Map<string, string>();

  const bodyOf = async ({ id }: InboxRowSummary) => {
    const body = (await store.get({ source, id }))?.body;
    return body ? Buffer.from(body).toString("utf8") : undefined;
  };

  /** A new row has the bytes that the service signed, and is the only row of its delivery. */
  async function checkNewRow(row: InboxRowSummary): Promise<void> {
    if (row.channel !== "webhook") return;
    const name = trace.nameOf("delivery", row.id);
    const text = await bodyOf(row);
    const sentEventId = service.eventIds.get(row.id);
    const eventId = sentEventId ?? eventIn(text)?.id ?? "";
    const rows = (rowCounts.get(eventId) ?? 0) + 1;
    rowCounts.set(eventId, rows);
    const deliveries = service.deliveryCounts.get(eventId) ?? 0;
    check("I2", rows <= deliveries || deliveries === 0, () => {
      return `${name} is row ${rows} of an event with ${deliveries} deliveries`;
    });
    check("I6", sentEventId !== undefined, () => `${name} was stored and never sent by the service`);
    const signed =
      sentEventId === undefined ? undefined : (await service.mock.control.getEvent(eventId)).body;
    // Retention may have removed the body since.
    check(
      "I6",
      text === undefined || text === signed,
      () => `${name} was stored with other bytes than were signed`,
    );
  }

  async function checkHead(orderKey: string): Promise<void> {
    const position = (await store.head(source, orderKey))?.position ?? "";
    const before = heads.get(orderKey) ?? "";
    check("I3", position >= before, () => `the head of ${orderKey} moved back from ${before} to ${position}`);
    heads.set(orderKey, position);
    const occurredAtMs = position === "" ? 0 : Number(decodePosition(position).occurredAt / 1_000_000n);
    check("C2", occurredAtMs <= clock.now() + farFutureMs, () => {
      return `the head of ${orderKey} lies at ${new Date(occurredAtMs).toISOString()}`;
    });
  }

  return {
    async run() {
      const rows = await store.list({ source, limit: 100_000 });
      for (const row of rows.filter(({ seq }) => !seen.has(seq)).reverse()) {
        seen.add(row.seq);
        await checkNewRow(row);
      }
      const keys = new Set(rows.map(({ orderKey }) => orderKey));
      for (const key of keys) if (key !== null) await checkHead(key);
      for (const row of rows) {
        const count = effects.counts.get(row.id) ?? 0;
        check("I4", count <= 1 + row.replays, () => {
          return `${trace.nameOf("delivery", row.id)} took effect ${count} times`;
        });
      }
      const ids = new Set(rows.map(({ id }) => id));
      for (const id of network.acknowledged) {
        check("I1", ids.has(id), () => `${trace.nameOf("delivery", id)} was acknowledged and has no row`);
      }
    },
    eventOf: async (row) => eventIn(await bodyOf(row)),
  };
}

function eventIn(text: string | undefined): TaskEvent | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as TaskEvent);
  } catch {
    return undefined; // not JSON
  }
}
