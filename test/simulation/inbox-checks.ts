import type { RowSummary } from "workspace-tasks/receiver-kit";
import type { ReceiverSide } from "./receiver-side.ts";
import { type Scene, source } from "./scene.ts";
import type { ServiceSide } from "./service-side.ts";

/** Looks at the rows after each step. */
export type InboxWatch = {
  check(): Promise<void>;
  /** The row's event as its sender wrote it; undefined for rows that hold none. */
  eventOf(row: RowSummary): Promise<ReportedEvent | undefined>;
};

export type ReportedEvent = {
  readonly id: string;
  readonly taskId: string;
  readonly status: string;
  readonly occurredAt: string;
  readonly subTaskId?: string;
};

const rowsMax = 100_000;

export function createInboxWatch(scene: Scene, service: ServiceSide, site: ReceiverSide): InboxWatch {
  const { judge, trace } = scene;
  const { store, ledger, road } = site;
  const seen = new Set<number>();
  const rowsPerEvent = new Map<string, number>();
  const heads = new Map<string, string>();

  const bodyOf = async ({ id }: RowSummary) => {
    const body = (await store.get({ source, id }))?.body;
    return body ? Buffer.from(body).toString("utf8") : undefined;
  };

  /** Each new row is what the service signed, byte for byte, and the only one of its delivery. */
  async function judgeNewRow(row: RowSummary): Promise<void> {
    if (row.channel !== "webhook") return;
    const name = trace.nameOf("delivery", row.id);
    const text = await bodyOf(row);
    const eventId = service.issued.get(row.id) ?? eventIdIn(text);
    const rows = (rowsPerEvent.get(eventId) ?? 0) + 1;
    rowsPerEvent.set(eventId, rows);
    const copies = service.copies.get(eventId) ?? 0;
    judge.expect(
      rows <= copies || copies === 0,
      "I2",
      () => `${name} is row ${rows} of ${copies} deliveries`,
    );
    judge.expect(service.issued.has(row.id), "I6", () => `${name} was stored and never sent by the service`);
    const signed = service.issued.has(row.id) ? service.mock.admin.event(eventId).body : undefined;
    judge.expect(text === signed, "I6", () => `${name} was stored with other bytes than were signed`);
  }

  async function judgeHead({ orderKey }: RowSummary): Promise<void> {
    if (orderKey === null) return;
    const position = (await store.head(source, orderKey))?.position ?? "";
    const before = heads.get(orderKey) ?? "";
    judge.expect(
      position >= before,
      "I3",
      () => `the head of ${orderKey} went back from ${before} to ${position}`,
    );
    heads.set(orderKey, position);
  }

  return {
    async check() {
      const rows = await store.list({ limit: rowsMax });
      for (const row of rows.filter(({ seq }) => !seen.has(seq)).reverse()) {
        seen.add(row.seq);
        await judgeNewRow(row);
      }
      for (const row of rows) {
        await judgeHead(row);
        const effects = ledger.effects.get(row.id) ?? 0;
        judge.expect(effects <= 1 + row.replays, "I4", () => {
          return `${trace.nameOf("delivery", row.id)} took effect ${effects} times`;
        });
      }
      const ids = new Set(rows.map(({ id }) => id));
      for (const id of road.acknowledged) {
        judge.expect(ids.has(id), "I1", () => `${trace.nameOf("delivery", id)} was acknowledged and is gone`);
      }
    },
    async eventOf(row) {
      const text = await bodyOf(row);
      return text === undefined ? undefined : readEvent(text);
    },
  };
}

function eventIdIn(text: string | undefined): string {
  return (text === undefined ? undefined : readEvent(text)?.id) ?? "";
}

function readEvent(text: string): ReportedEvent | undefined {
  try {
    return JSON.parse(text) as ReportedEvent;
  } catch {
    return undefined; // not JSON: no event
  }
}

export const keyOf = ({ taskId, subTaskId }: ReportedEvent): string =>
  subTaskId === undefined ? taskId : `${taskId}/${subTaskId}`;
