import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { connectionCodeOf } from "../../connection-errors.ts";
import { ObserverError } from "./errors.ts";
import type { ResolvedAuditOptions } from "./options.ts";

/**
 * Reads what the receiver did with a delivery from a URL of the receiver: `GET <observe-url>?id=<webhook-id>`
 * returns `{ "count": n }`, how often the delivery took effect. `?taskId=<id>` may return `{ "status": "COMPLETED" }`, the
 * state held for the task.
 */
export interface Observer {
  /** How often each delivery took effect, after waiting for one effect and for further ones. */
  effectsOf(ids: readonly string[]): Promise<readonly number[]>;
  /** The state held for a task; `undefined` when the URL does not return it. */
  taskStatus(taskId: string): Promise<string | undefined>;
}

const pollEveryMs = 25;
/** Asking is no delivery: a short limit for those must not end the run on a busy machine. */
const readTimeoutMsMin = 10_000;

/** `sentId` is the id of an acknowledged delivery, `unsentId` one that was never sent. */
export async function createObserver(
  observeUrl: string,
  options: ResolvedAuditOptions,
  sentId: string,
  unsentId: string,
): Promise<Observer> {
  const { clock, observeTimeoutMs, observeSettleMs } = options;
  const timeoutMs = Math.max(readTimeoutMsMin, options.timeoutMs);

  async function read(name: "id" | "taskId", value: string): Promise<Record<string, unknown>> {
    const url = new URL(observeUrl);
    url.searchParams.set(name, value);
    const { status, text } = await get(url, timeoutMs);
    if (status < 200 || status > 299) throw new ObserverError(`the observe URL returned status ${status}`);
    const body = jsonOrUndefined(text);
    if (typeof body === "object" && body !== null) return body as Record<string, unknown>;
    throw new ObserverError("the observe URL did not return a JSON object");
  }
  async function count(id: string): Promise<number> {
    const { count } = await read("id", id);
    if (typeof count === "number") return count;
    throw new ObserverError('the observe URL did not return a number "count"');
  }
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.schedule(ms, resolve));

  async function settledCount(id: string): Promise<number> {
    const deadline = clock.monotonic() + observeTimeoutMs;
    while ((await count(id)) < 1 && clock.monotonic() < deadline) await wait(pollEveryMs);
    await wait(observeSettleMs);
    return count(id);
  }

  if ((await settledCount(sentId)) === 0)
    throw new ObserverError("the observe URL counts no effect of the valid delivery");
  if ((await count(unsentId)) > 0)
    throw new ObserverError("the observe URL counts an effect of a delivery that was not sent");
  return {
    effectsOf: (ids) => Promise.all(ids.map(settledCount)),
    async taskStatus(taskId) {
      const { status } = await read("taskId", taskId);
      return typeof status === "string" ? status : undefined;
    },
  };
}

async function get(url: URL, timeoutMs: number): Promise<{ readonly status: number; readonly text: string }> {
  const request = { signal: AbortSignal.timeout(timeoutMs) };
  try {
    // The second one has a new connection: a server may close one that is kept alive in the instant in which it is used.
    const response = await fetch(url, request).catch(() => fetch(url, request));
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const problem = request.signal.aborted ? `did not respond within ${timeoutMs} ms` : "could not be read";
    const code = connectionCodeOf(error);
    throw new ObserverError(`the observe URL ${problem}${code ? ` (${code})` : ""}`, { cause: error });
  }
}
