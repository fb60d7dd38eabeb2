export type Effects = {
  add(id: string): void;
  /** What an observe URL answers. */
  of(id: string): { readonly count: number };
};

/** Counts how often each delivery was acted upon; stands for what an application does with one. */
export function createEffects(): Effects {
  const counts = new Map<string, number>();
  return {
    add: (id) => void counts.set(id, (counts.get(id) ?? 0) + 1),
    of: (id) => ({ count: counts.get(id) ?? 0 }),
  };
}
