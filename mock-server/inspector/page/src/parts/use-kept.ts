import { type Dispatch, type StateUpdater, useState } from "preact/hooks";

const kept = new Map<string, unknown>();

/** A state that outlives its view: what was typed is still there when the user returns to it. */
export function useKept<Value>(
  key: string,
  initial: Value | (() => Value),
): [Value, Dispatch<StateUpdater<Value>>] {
  const [value, setValue] = useState(kept.has(key) ? (kept.get(key) as Value) : initial);
  kept.set(key, value);
  return [value, setValue];
}
