import { createHash } from "node:crypto";

/** The events of a run, in order. Two runs are the same run when their hashes are equal. */
export interface Trace {
  log(text: string): void;
  /** A short name for an id, the same in every run of a seed. */
  nameOf(kind: string, id: string): string;
  readonly hash: string;
  /** The last 30 lines, until `endTail`. */
  readonly tail: readonly string[];
  /** What follows is no longer kept. */
  endTail(): void;
}

const tailMax = 30;

export function createTrace(nowMs: () => number): Trace {
  const hash = createHash("sha256");
  const tail: string[] = [];
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  let startMs: number | undefined;
  let hasEnded = false;
  return {
    log(text) {
      startMs ??= nowMs();
      const line = `${((nowMs() - startMs) / 1_000).toFixed(3)} s: ${text}`;
      hash.update(`${line}\n`);
      if (hasEnded) return;
      tail.push(line);
      if (tail.length > tailMax) tail.shift();
    },
    nameOf(kind, id) {
      const existing = names.get(id);
      if (existing !== undefined) return existing;
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      const name = `${kind}-${count}`;
      names.set(id, name);
      return name;
    },
    get hash() {
      return hash.copy().digest("hex");
    },
    tail,
    endTail() {
      hasEnded = true;
    },
  };
}
