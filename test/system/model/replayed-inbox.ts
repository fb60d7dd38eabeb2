// The memory inbox, on which runs of the model are replayed, and what the model has of its state.

import type { Clock, MemoryTransaction } from "@workspace-tasks/receiver-kit";
import { type InboxStore, storeOf } from "../../../receiver-kit/inbox/inbox.ts";
import type * as MemoryInbox from "../../../receiver-kit/inbox/memory/memory-inbox.ts";
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

interface VisibleRow {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly dueAtMs: number;
}

interface VisibleKey {
  readonly name: string;
  readonly worker: string | null;
  readonly generation: number;
  readonly claimed: readonly unknown[];
  readonly suspects: number;
  readonly wakeAtMs: number | null;
  readonly head: { readonly position: string } | null;
}

interface VisibleInbox {
  readonly private_rows: { readonly private_rows: ReadonlyMap<string, VisibleRow> };
  readonly private_keys: { readonly private_byId: ReadonlyMap<number, VisibleKey> };
}

export const openMemoryInbox =
  ({ memoryInbox }: typeof MemoryInbox): OpenReplayed =>
  (clock) => {
    const inbox = memoryInbox({ clock });
    const { private_rows: rows, private_keys: keys } = inbox as unknown as VisibleInbox;
    const effects: string[] = [];
    return {
      ...{ inbox: storeOf(inbox), effects },
      state(nowMs, { ROWS, KEYS }) {
        const found = [...rows.private_rows.values()];
        const named = [...keys.private_byId.values()];
        const positions = new Map(Array.from({ length: ROWS }, (_, row) => [positionAt(row + 1), row + 1]));
        return {
          rows: Array.from({ length: ROWS }, (_, row) =>
            rowState(
              found.find(({ id }) => id === rowId(row)),
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

function rowState(row: VisibleRow | undefined, effects: readonly string[], nowMs: number): ModelRow {
  if (!row) return { state: "absent", attempts: 0, dueTicks: 0, effects: 0 };
  const waits = row.state === "pending" || row.state === "running";
  return {
    state: waits ? "pending" : (row.state as ModelRow["state"]),
    attempts: row.attempts,
    dueTicks: waits ? ticks(row.dueAtMs, nowMs) : 0,
    effects: effects.filter((id) => id === row.id).length,
  };
}

function keyState(key: VisibleKey, positions: ReadonlyMap<string, number>, nowMs: number): ModelKey {
  const { worker, generation, claimed, suspects, wakeAtMs, head } = key;
  return {
    claim: worker === null ? 0 : Number(worker.split("-")[1]),
    ...{ generation, held: claimed.length, suspects },
    wakeTicks: wakeAtMs === null || !Number.isFinite(wakeAtMs) ? null : ticks(wakeAtMs, nowMs),
    head: head === null ? 0 : (positions.get(head.position) ?? Number.NaN),
  };
}
