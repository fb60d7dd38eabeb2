export type Effects = {
  add(id: string): void;
  /** The response of an observe URL. */
  of(id: string): { readonly count: number };
};

/** Counts the effects of each delivery, in place of an application. */
export function createEffects(): Effects {
  const counts = new Map<string, number>();
  return {
    add: (id) => void counts.set(id, (counts.get(id) ?? 0) + 1),
    of: (id) => ({ count: counts.get(id) ?? 0 }),
  };
}
