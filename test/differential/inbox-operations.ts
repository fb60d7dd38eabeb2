import { createRandom, type Random } from "../simulation/random.ts";

/** One call, with numbers that mean something whatever was called before: of rows and claims modulo how many there are. */
export type InboxOperation =
  | {
      readonly kind: "insert";
      /** `null`: a row without a key. */
      readonly key: number | null;
      readonly second: number;
      /** Repeats the id of an earlier row. */
      readonly repeats: number | null;
      readonly text: string;
      readonly isQuarantined: boolean;
    }
  | { readonly kind: "claim" | "purge" }
  | { readonly kind: "commit"; readonly n: number }
  | { readonly kind: "renew"; readonly n: number }
  | { readonly kind: "discard"; readonly n: number }
  | {
      readonly kind: "fail";
      readonly n: number;
      readonly as: "retry" | "dead" | "release";
      readonly delayMs: number;
    }
  | { readonly kind: "replay"; readonly n: number; readonly key: number | null; readonly second: number }
  | { readonly kind: "resetHead" | "head"; readonly key: number; readonly second: number }
  /** Negative when the clock is set back. */
  | { readonly kind: "time"; readonly byMs: number };

const weighted = [
  ...["insert", "insert", "insert", "claim", "claim", "commit", "commit", "fail", "time", "time"],
  ...["insert", "claim", "commit", "fail", "renew", "replay", "discard", "purge", "resetHead", "head"],
] as [InboxOperation["kind"], ...InboxOperation["kind"][]];

/** @param isSetBack whether the clock is sometimes set back; then nothing is purged */
export function generateOperations(seed: number, isSetBack: boolean): readonly InboxOperation[] {
  const random = createRandom(seed, "inbox");
  const operations = Array.from({ length: random.integer(10, 60) }, () =>
    generateOperation(random, isSetBack),
  );
  return isSetBack ? operations.filter(({ kind }) => kind !== "purge") : operations;
}

function generateOperation(random: Random, isSetBack: boolean): InboxOperation {
  const kind = random.pick(weighted);
  const n = random.integer(0, 1_000);
  const key = random.pick([0, 0, 1, 2, null]);
  const second = random.integer(1, 12);
  switch (kind) {
    case "insert": {
      const repeats = random.happens(0.15) ? n : null;
      const text = random.pick(["a", "a", "b"]);
      return { kind, key, second, repeats, text, isQuarantined: random.happens(0.08) };
    }
    case "fail":
      return {
        kind,
        n,
        as: random.pick(["retry", "retry", "dead", "release"]),
        delayMs: random.integer(1, 2),
      };
    case "replay":
      return { kind, n, key, second };
    case "resetHead":
    case "head":
      return { kind, key: key ?? 0, second };
    case "time": {
      const byMs = random.pick([1, 300, 1_000, 1_001, 2_500, 6_000]);
      return { kind, byMs: isSetBack && random.happens(0.2) ? -byMs : byMs };
    }
    case "commit":
    case "renew":
    case "discard":
      return { kind, n };
    default:
      return { kind };
  }
}
