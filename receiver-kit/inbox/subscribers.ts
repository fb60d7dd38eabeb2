import type { InboxWorkQueue } from "./inbox.ts";

type Subscribe = NonNullable<InboxWorkQueue<unknown>["subscribe"]>;

/** Who is told, within this process, that rows may have become claimable. */
export function createSubscribers() {
  const wakes = new Map<symbol, Parameters<Subscribe>[0]>();
  const subscribe: Subscribe = async (wake) => {
    const name = Symbol("subscriber");
    wakes.set(name, wake);
    return async () => void wakes.delete(name);
  };
  const wake = (source: string) => {
    for (const each of wakes.values()) each(source);
  };
  return { subscribe, wake };
}
