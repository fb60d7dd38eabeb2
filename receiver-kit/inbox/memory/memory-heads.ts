import type { HeadAdvance } from "../inbox.ts";

type Head = { readonly position: string; readonly status: string | null; readonly movedAtMs: number };

/** Ordering heads in memory: per source and key, the position of the newest applied event. */
export class MemoryHeads {
  readonly #heads = new Map<string, Head>();

  get(source: string, key: string): Head | undefined {
    return this.#heads.get(JSON.stringify([source, key]));
  }

  mayAdvance(source: string, { key, position, allowSame }: HeadAdvance): boolean {
    const head = this.get(source, key);
    return !head || position > head.position || (allowSame && position === head.position);
  }

  move(source: string, { key, position, status }: HeadAdvance, nowMs: number): void {
    this.#heads.set(JSON.stringify([source, key]), { position, status, movedAtMs: nowMs });
  }

  /** Keys whose newest event says RUNNING and is that old. */
  runningSince(source: string, sinceMs: number): readonly string[] {
    const keys: string[] = [];
    for (const [name, head] of this.#heads) {
      const [headSource, key] = JSON.parse(name) as [string, string];
      if (headSource === source && head.status === "RUNNING" && head.movedAtMs <= sinceMs) keys.push(key);
    }
    return keys;
  }

  /** Answers how many it removed. */
  purge(untouchedSinceMs: number, headsMax: number): number {
    let removed = 0;
    for (const [name, head] of this.#heads) {
      if (removed >= headsMax) break;
      if (head.movedAtMs > untouchedSinceMs) continue;
      this.#heads.delete(name);
      removed += 1;
    }
    return removed;
  }
}
