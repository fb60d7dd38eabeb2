import type { Clock } from "../../clock.ts";
import { ObserverError } from "./errors.ts";

/**
 * Reads what the receiver did with a delivery from a URL of the receiver: `GET <observe-url>?id=<webhook-id>`
 * returns `{ "count": n }`, how often the delivery took effect; a URL that ignores `id` and returns the total works
 * too. `?taskId=<id>` may return `{ "status": "COMPLETED" }`, the state held for the task.
 */
export interface Observer {
  /** False when the URL returns totals only. */
  readonly perDelivery: boolean;
  /** Effects of a delivery (or the total) right now. */
  count(id: string): Promise<number>;
  /** Waits until `count` reaches `wanted`, then `settleMs` longer, and returns the last count. */
  settledCount(id: string, wanted: number): Promise<number>;
  /** The state held for a task; `undefined` when the URL does not return it. */
  taskStatus(taskId: string): Promise<string | undefined>;
}

const pollEveryMs = 25;

export async function createObserver(options: {
  readonly url: string;
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  /** Time limit for one request to the URL. */
  readonly requestTimeoutMs: number;
  /** How long an effect may take to show. */
  readonly timeoutMs: number;
  readonly settleMs: number;
  /** The id of an acknowledged delivery, and an id that was never sent. */
  readonly knownId: string;
  readonly unknownId: string;
}): Promise<Observer> {
  const { clock, timeoutMs, settleMs } = options;

  async function read(query: Record<string, string>): Promise<Record<string, unknown>> {
    const url = new URL(options.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    try {
      const response = await options.fetch(url, { signal: AbortSignal.timeout(options.requestTimeoutMs) });
      const value: unknown = await response.json();
      if (!response.ok || typeof value !== "object" || value === null) throw new Error(`${response.status}`);
      return value as Record<string, unknown>;
    } catch (cause) {
      throw new ObserverError("the observe URL did not return a JSON object", { cause });
    }
  }
  async function count(id: string): Promise<number> {
    const value = (await read({ id }))["count"];
    if (typeof value === "number") return value;
    throw new ObserverError('the observe URL did not return a number "count"');
  }
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.schedule(ms, resolve));

  async function settledCount(id: string, wanted: number): Promise<number> {
    const deadline = clock.monotonic() + timeoutMs;
    while ((await count(id)) < wanted && clock.monotonic() < deadline) await wait(pollEveryMs);
    await wait(settleMs);
    return count(id);
  }

  const known = await settledCount(options.knownId, 1);
  const unknown = await count(options.unknownId);
  if (known === 0) throw new ObserverError("the observe URL counts no effect of the valid delivery");
  return {
    perDelivery: unknown === 0,
    count,
    settledCount,
    async taskStatus(taskId) {
      const status = (await read({ taskId }))["status"];
      return typeof status === "string" ? status : undefined;
    },
  };
}
