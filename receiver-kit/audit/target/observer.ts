import type { Clock } from "../../clock.ts";

/**
 * Looks at what the receiver did with a delivery, through an address of the receiver under audit:
 * `GET <observe-url>?id=<webhook-id>` answers `{ "count": n }`, how often the delivery took effect; an
 * address that ignores `id` and counts everything works too. `?taskId=<id>` may answer
 * `{ "status": "COMPLETED" }`, the state held for the task.
 */
export type Observer = {
  /** True when counts are per delivery; false when only the total is told. */
  readonly perDelivery: boolean;
  /** Effects of a delivery (or the total) right now. */
  count(id: string): Promise<number>;
  /** Waits until `count` reaches `wanted`, then `settleMs` longer, and returns the count seen last. */
  settledCount(id: string, wanted: number): Promise<number>;
  /** The state held for a task; `undefined` when the receiver does not tell. */
  taskStatus(taskId: string): Promise<string | undefined>;
};

export class ObserverError extends Error {
  override readonly name = "ObserverError";
}

const pollEveryMs = 25;

export async function createObserver(options: {
  readonly url: string;
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  /** Time limit for one request to the address. */
  readonly requestTimeoutMs: number;
  /** How long an effect may take to show. */
  readonly timeoutMs: number;
  readonly settleMs: number;
  /** A delivery that was acknowledged before, and an id that was never sent. */
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
      throw new ObserverError("the observe URL did not answer with a JSON object", { cause });
    }
  }
  async function count(id: string): Promise<number> {
    const answer = await read({ id });
    const value = answer["count"];
    if (typeof value !== "number")
      throw new ObserverError('the observe URL answered without a number "count"');
    return value;
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
