import type { Claim, HeadAdvance } from "../inbox.ts";
import type { HeadFilter, HeadReference, HeadSummary } from "../order-head.ts";

/** Ordering heads in memory: per source and key, the position of the newest applied event. */
export class MemoryHeads {
  readonly #heads = new Map<string, HeadSummary>();

  get(source: string, key: string | null): HeadSummary | undefined {
    return this.#heads.get(headName(source, key));
  }

  mayAdvance(source: string, { key, position, allowSame }: HeadAdvance): boolean {
    const head = this.get(source, key);
    return !head || position > head.position || (allowSame && position === head.position);
  }

  advance(
    { source, workspaceId: named }: Pick<Claim, "source" | "workspaceId">,
    { key, position, status }: HeadAdvance,
    nowMs: number,
  ): void {
    const workspaceId = named ?? this.get(source, key)?.workspaceId ?? null;
    const head = { source, key, position, status, workspaceId, movedAtMs: nowMs };
    this.#heads.set(headName(source, key), head);
  }

  /** Heads whose newest event reports RUNNING and was applied at `untilMs` or before, or in the future. */
  runningUntil(source: string, untilMs: number, nowMs: number): readonly HeadSummary[] {
    return [...this.#heads.values()].filter(
      (head) =>
        head.source === source &&
        head.status === "RUNNING" &&
        (head.movedAtMs <= untilMs || head.movedAtMs > nowMs),
    );
  }

  list({ source, keyPrefix = "", afterKey = "", limit = 50 }: HeadFilter): readonly HeadSummary[] {
    return [...this.#heads.values()]
      .filter((head) => head.source === source && head.key > afterKey && head.key.startsWith(keyPrefix))
      .sort(byKey)
      .slice(0, limit);
  }

  reset({ source, key }: HeadReference): boolean {
    return this.#heads.delete(headName(source, key));
  }

  /** Returns how many it removed; heads in `kept` stay. */
  purge(unchangedSinceMs: number, headsMax: number, kept: ReadonlySet<string>): number {
    let removed = 0;
    for (const [name, head] of this.#heads) {
      if (removed >= headsMax) break;
      if (head.movedAtMs > unchangedSinceMs || kept.has(name)) continue;
      this.#heads.delete(name);
      removed += 1;
    }
    return removed;
  }
}

export const headName = (source: string, key: string | null): string => JSON.stringify([source, key]);

export const byKey = (a: { readonly key: string }, b: { readonly key: string }): number =>
  a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
