import { createControlClient, isMockServerError } from "@workspace-tasks/mock-server/control";
import { useEffect, useMemo, useState } from "preact/hooks";
import { setReadProblem, versionOf } from "./live.ts";
import { change, currentState, useLive } from "./store.ts";
import { transport } from "./transport.ts";
import { worldUrl } from "./worlds.ts";

/** The control API of the mock that serves this page. */
export const control = createControlClient({ baseUrl: worldUrl, fetch: transport.fetch });

/** Reads start at least this far apart; a slow one delays the next, so that half of the time stays free. */
const pauseMsMin = 200;

/** After a failed read, whose cause may have passed. */
const retryMs = 3_000;

/**
 * A value of the control API, read again when one of `topics` changes, or when `revision` does. A `null` key
 * reads nothing. `undefined` until the first response, `null` when the mock does not have it. When a read fails, the
 * last value stays, the page says why, and it is read again.
 * @param revision can depend on the value itself
 */
export function useResource<Value>(
  key: string | null,
  topics: readonly string[],
  read: () => Promise<Value>,
  revision: (value: Value | null | undefined) => number = () => 0,
): Value | null | undefined {
  const [held, setHeld] = useState<{ key: string; value: Value | null } | undefined>();
  const version = useLive((state) => versionOf(state, topics)) + revision(held?.value);
  // One reader follows a key; a slow read of another key does not delay it.
  const reader = useMemo(() => createReader(key, read, setHeld), [key]);
  reader.read = read;
  useEffect(() => reader.schedule(0), [reader, version]);
  useEffect(() => reader.stop, [reader]);
  return held && held.key === key ? held.value : undefined;
}

function createReader<Value>(
  key: string | null,
  read: () => Promise<Value>,
  hold: (held: { key: string; value: Value | null }) => void,
) {
  let isBusy = false;
  let isDirty = false;
  let isStopped = key === null;
  let nextAtMs = 0;
  let timer = 0;
  const run = async () => {
    [isBusy, isDirty] = [true, false];
    const startedAtMs = performance.now();
    const { value, problem, mayPass } = await readOrNull(reader.read);
    if (isStopped) return;
    isBusy = false;
    const readMs = performance.now() - startedAtMs;
    nextAtMs = performance.now() + Math.max(pauseMsMin, readMs);
    change(setReadProblem(currentState(), reader, problem));
    if (value !== undefined) hold({ key: key ?? "", value });
    if (isDirty) reader.schedule(0);
    else if (mayPass && currentState().connection !== "lost") reader.schedule(retryMs);
  };
  const reader = {
    read,
    schedule(afterMs: number) {
      isDirty = true;
      if (isBusy || isStopped) return;
      clearTimeout(timer);
      timer = window.setTimeout(run, Math.max(afterMs, nextAtMs - performance.now()));
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
      change(setReadProblem(currentState(), reader, null));
    },
  };
  return reader;
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
