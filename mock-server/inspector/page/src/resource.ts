import { useEffect, useRef, useState } from "preact/hooks";
import { createControlClient } from "../../../control/control-client.ts";
import { isMockServerError } from "../../../errors.ts";
import { versionOf } from "./live.ts";
import { useLive } from "./store.ts";
import { worldUrl } from "./worlds.ts";

/** The control API of the mock that serves this page. */
export const control = createControlClient({ baseUrl: worldUrl });

/** Reads start at least this far apart; a slow one delays the next, so that half of the time stays free. */
const pauseMsMin = 200;

/**
 * A value of the control API, read again when one of `topics` changes, or when `revision` does. A `null` key
 * reads nothing. `undefined` until the first response, `null` when the mock rejects the read. While the mock does
 * not respond, the last value stays.
 */
export function useResource<Value>(
  key: string | null,
  topics: readonly string[],
  read: () => Promise<Value>,
  revision = 0,
): Value | null | undefined {
  const version = useLive((state) => versionOf(state, topics));
  const [held, setHeld] = useState<{ key: string; value: Value | null } | undefined>();
  const { current: reader } = useRef({
    key: key ?? "",
    read,
    isBusy: false,
    isDirty: false,
    nextAtMs: 0,
    timer: 0,
  });

  useEffect(() => {
    if (key === null) return;
    if (reader.key !== key) reader.nextAtMs = 0;
    Object.assign(reader, { key, read, isDirty: true });
    const schedule = () => {
      if (reader.isBusy) return;
      reader.timer = window.setTimeout(run, Math.max(0, reader.nextAtMs - performance.now()));
    };
    const run = async () => {
      const { key, read } = reader;
      Object.assign(reader, { isBusy: true, isDirty: false });
      const startedAtMs = performance.now();
      const value = await readOrNull(read);
      reader.isBusy = false;
      reader.nextAtMs = performance.now() + Math.max(pauseMsMin, performance.now() - startedAtMs);
      if (value !== undefined && reader.key === key) setHeld({ key, value });
      if (reader.isDirty) schedule();
    };
    schedule();
    return () => {
      reader.isDirty = false;
      clearTimeout(reader.timer);
    };
  }, [key, version, revision]);

  return held && held.key === key ? held.value : undefined;
}

const withoutResponse = ["NETWORK_FAILED", "REQUEST_TIMEOUT", "RESPONSE_INVALID"];

async function readOrNull<Value>(read: () => Promise<Value>): Promise<Value | null | undefined> {
  try {
    return await read();
  } catch (error) {
    return isMockServerError(error) && !withoutResponse.includes(error.code) ? null : undefined;
  }
}
