import type { HeadAdvance, OrderHead } from "../inbox.ts";

interface MemoryHead extends OrderHead {
  readonly movedAtMs: number;
}

/** Ordering heads in memory: per source and key, the position of the newest applied event. */
export class MemoryHeads {
  readonly #heads = new Map<string, MemoryHead>();

  get(source: string, key: string | null): MemoryHead | undefined {
    return this.#heads.get(JSON.stringify([source, key]));
  }

  mayAdvance(source: string, { key, position, allowSame }: HeadAdvance): boolean {
    const head = this.get(source, key);
    return !head || position > head.position || (allowSame && position === head.position);
  }

  advance(source: string, { key, position, status }: HeadAdvance, nowMs: number): void {
    this.#heads.set(JSON.stringify([source, key]), { position, status, movedAtMs: nowMs });
  }

  /** Keys whose newest event reports RUNNING and was applied at `untilMs` or before. */
  runningUntil(source: string, untilMs: number): readonly string[] {
    const keys: string[] = [];
    for (const [name, head] of this.#heads) {
      const [headSource, key] = JSON.parse(name) as [string, string];
      if (headSource === source && head.status === "RUNNING" && head.movedAtMs <= untilMs) keys.push(key);
    }
    return keys;
  }

  /** Returns how many it removed. */
  purge(unchangedSinceMs: number, headsMax: number): number {
    let removed = 0;
    for (const [name, head] of this.#heads) {
      if (removed >= headsMax) break;
      if (head.movedAtMs > unchangedSinceMs) continue;
      this.#heads.delete(name);
      removed += 1;
    }
    return removed;
  }
}
