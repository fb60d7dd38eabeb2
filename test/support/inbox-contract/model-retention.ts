import { expect } from "vitest";
import type { InboxRetention } from "../../../receiver-kit/inbox/inbox.ts";
import type { InboxModel } from "./inbox-model.ts";

/** What an inbox has kept. */
interface Kept {
  readonly rows: ReadonlySet<string>;
  /** Ids of the rows that have one. */
  readonly bodies: ReadonlySet<string>;
  readonly heads: ReadonlySet<string>;
}

/** Removes from the model what the inbox purged. */
export function purgeModel(model: InboxModel, retention: InboxRetention, kept: Kept): void {
  const { bodiesMs, rowsMs, headsMs, unhandledBodiesMs } = retention;
  const isOld = (sinceMs: number, ms: number) => model.elapsedMs - sinceMs >= ms;
  const judge = (what: string, isGone: boolean, mayGo: boolean) =>
    expect(isGone, `whether ${what} is purged`).toBe(mayGo);
  for (const [key, { movedAtMs }] of model.heads) {
    const isGone = !kept.heads.has(key);
    judge(`the head of ${key}`, isGone, isOld(movedAtMs, headsMs) && model.waiting(key).length === 0);
    if (isGone) model.heads.delete(key);
  }
  for (const row of model.rows.values()) {
    const { id, state, bornAtMs } = row;
    const isSettled = ["done", "stale", "discarded"].includes(state);
    judge(`the row ${id}`, !kept.rows.has(id), isSettled && isOld(bornAtMs, rowsMs));
    if (!kept.rows.has(id)) {
      model.rows.delete(id);
      continue;
    }
    const isBodyOld = state !== "pending" && isOld(bornAtMs, isSettled ? bodiesMs : unhandledBodiesMs);
    judge(`the body of ${id}`, !kept.bodies.has(id), isBodyOld);
    if (!kept.bodies.has(id)) row.body = null;
  }
}
