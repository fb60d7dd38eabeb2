import { useEffect, useRef, useState } from "preact/hooks";
import { createControlClient } from "../../../../control/control-client.ts";
import { isMockServerError } from "../../../../errors.ts";
import { versionOf } from "./live.ts";
import { setReadProblem } from "./read-problem.ts";
import { isLost, useLive } from "./store.ts";
import { worldUrl } from "./worlds.ts";

/** The control API of the mock that serves this page. */
export const control = createControlClient({ baseUrl: worldUrl });

/** Reads start at least this far apart; a slow one delays the next, so that half of the time stays free. */
const pauseMsMin = 200;

/** After a failed read, whose cause may have passed. */
const retryMs = 3_000;

/**
 * A value of the control API, read again when one of `topics` changes, or when `revision` does. A `null` key
 * reads nothing. `undefined` until the first response, `null` when the mock does not have it. When a read fails, the
 * last value stays, the page says why, and it is read again.
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
    isMounted: true,
    /** The key that is being read. */
    busyKey: null as string | null,
    isDirty: false,
    nextAtMs: 0,
    timer: 0,
  });

  useEffect(() => {
    if (key === null) return setReadProblem(reader, null);
    if (reader.key !== key) reader.nextAtMs = 0;
    Object.assign(reader, { key, read, isDirty: true });
    const schedule = () => {
      // A slow read of another key does not delay this one.
      if (reader.busyKey === reader.key) return;
      reader.timer = window.setTimeout(run, Math.max(0, reader.nextAtMs - performance.now()));
    };
    const run = async () => {
      const { key, read } = reader;
      Object.assign(reader, { busyKey: key, isDirty: false });
      const startedAtMs = performance.now();
      const { value, problem, mayPass } = await readOrNull(read);
      if (!reader.isMounted || reader.key !== key) return;
      reader.busyKey = null;
      reader.nextAtMs = performance.now() + Math.max(pauseMsMin, performance.now() - startedAtMs);
      setReadProblem(reader, problem);
      if (value !== undefined) setHeld({ key, value });
      if (mayPass && !reader.isDirty && !isLost()) {
        Object.assign(reader, { isDirty: true, nextAtMs: performance.now() + retryMs });
      }
      if (reader.isDirty) schedule();
    };
    schedule();
    return () => {
      reader.isDirty = false;
      clearTimeout(reader.timer);
    };
  }, [key, version, revision]);

  useEffect(() => {
    reader.isMounted = true;
    return () => {
      reader.isMounted = false;
      setReadProblem(reader, null);
    };
  }, []);

  return held && held.key === key ? held.value : undefined;
}

interface ReadResult<Value> {
  readonly value: Value | null | undefined;
  readonly problem: string | null;
  /** Whether the same read can succeed later. */
  readonly mayPass: boolean;
}

const passing = ["NETWORK_FAILED", "REQUEST_TIMEOUT", "RESPONSE_INVALID", "INTERNAL"];

async function readOrNull<Value>(read: () => Promise<Value>): Promise<ReadResult<Value>> {
  try {
    return { value: await read(), problem: null, mayPass: false };
  } catch (error) {
    if (isMockServerError(error, "NOT_FOUND")) return { value: null, problem: null, mayPass: false };
    const problem = error instanceof Error ? error.message : String(error);
    return { value: undefined, problem, mayPass: isMockServerError(error) && passing.includes(error.code) };
  }
}
