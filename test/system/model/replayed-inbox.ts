// The memory inbox, on which runs of the model are replayed, and what the model has of its state.

import type { Clock, MemoryTransaction } from "@workspace-tasks/receiver-kit";
import type { Delivery, QueuedRow } from "../../../receiver-kit/inbox/core/storage.ts";
import { type InboxStore, storeOf } from "../../../receiver-kit/inbox/inbox.ts";
import type * as MemoryInbox from "../../../receiver-kit/inbox/memory/memory-inbox.ts";
import type { MemoryKey } from "../../../receiver-kit/inbox/memory/memory-storage.ts";
import { importPatched } from "../../integration/simulation/patched-product.ts";
import { positionAt } from "../../support/inbox-contract/contract-rows.ts";
import type { ModelBounds, ModelKey, ModelRow, ModelState } from "./transitions.ts";

export const tickMs = 1_000;
export const keyName = (key: number) => JSON.stringify([`task-${key}`]);
export const rowId = (row: number) => `msg_${row}`;

export interface ReplayedInbox {
  readonly inbox: InboxStore<MemoryTransaction>;
  /** Ids of the events whose handlers' writes were kept. */
  readonly effects: string[];
  state(nowMs: number, bounds: ModelBounds): ModelState;
}

/** Returns an empty inbox. */
export type OpenReplayed = (clock: Clock) => ReplayedInbox;

/** The memory inbox, bundled with its private fields made visible. */
export function loadMemoryInbox() {
  const options = { name: "replayed", patches: [], exposesPrivate: true };
  return importPatched<typeof MemoryInbox>("receiver-kit", options, "inbox/memory/memory-inbox.ts");
}

interface VisibleInbox {
  readonly private_storage: {
    readonly deliveries: ReadonlyMap<number, Delivery>;
    readonly keys: ReadonlyMap<number, MemoryKey>;
    readonly private_queues: ReadonlyMap<number, readonly QueuedRow[]>;
  };
}

export const openMemoryInbox =
  ({ memoryInbox }: typeof MemoryInbox): OpenReplayed =>
  (clock) => {
    const inbox = memoryInbox({ clock });
    const { private_storage: stored } = inbox as unknown as VisibleInbox;
    const effects: string[] = [];
    return {
      ...{ inbox: storeOf(inbox), effects },
      state(nowMs, { ROWS, KEYS }) {
        const found = [...stored.deliveries.values()];
        const named = [...stored.keys.values()];
        const queued = [...stored.private_queues.values()].flat();
        const positions = new Map(Array.from({ length: ROWS }, (_, row) => [positionAt(row + 1), row + 1]));
        return {
          rows: Array.from({ length: ROWS }, (_, row) =>
            rowState(
              found.find(({ id }) => id === rowId(row)),
              queued,
              effects,
              nowMs,
            ),
          ),
          keys: Array.from({ length: KEYS }, (_, key) => {
            const visible = named.find(({ name }) => name === keyName(key));
            return visible && keyState(visible, positions, nowMs);
          }),
        };
      },
    };
  };

const ticks = (atMs: number, nowMs: number) => Math.max(0, atMs - nowMs) / tickMs;

function rowState(
  row: Delivery | undefined,
  queue: readonly QueuedRow[],
  effects: readonly string[],
  nowMs: number,
): ModelRow {
  if (!row) return { state: "absent", attempts: 0, dueTicks: 0, effects: 0 };
  const queued = queue.find(({ seq }) => seq === row.seq);
  return {
    state: queued ? "pending" : ((row.outcome ?? "done") as ModelRow["state"]),
    attempts: queued?.attempts ?? row.attempts ?? (row.outcome === null ? 1 : 0),
    dueTicks: queued ? ticks(queued.dueAtMs, nowMs) : 0,
    effects: effects.filter((id) => id === row.id).length,
  };
}

function keyState(key: MemoryKey, positions: ReadonlyMap<string, number>, nowMs: number): ModelKey {
  const { worker, generation, claimed, suspects, wakeAtMs, head } = key;
  return {
    claim: worker === null ? 0 : Number(worker.split("-")[1]),
    ...{ generation, held: claimed.length, suspects },
    wakeTicks: wakeAtMs === null ? null : ticks(wakeAtMs, nowMs),
    head: head === null ? 0 : (positions.get(head.position) ?? Number.NaN),
  };
}
