import type { Clock } from "../../clock.ts";
import { checkOutClient, type PooledClient, type PostgresPool } from "./postgres-pool.ts";

export interface ListenerOptions {
  readonly pool: PostgresPool;
  /** A plain identifier. */
  readonly channel: string;
  readonly clock: Clock;
  /** Called for each notification, and after each reconnection, since some may have been missed. */
  readonly wake: () => void;
}

/** Listens on a client of its own until the returned function is called; reconnects by itself. */
export async function listenForRows(options: ListenerOptions): Promise<() => Promise<void>> {
  let closed = false;
  let current: PooledClient | undefined;
  let cancelRetry = () => {};

  const release = () => {
    current?.release(true);
    current = undefined;
  };
  const reconnectLater = () => {
    release();
    if (closed) return;
    cancelRetry();
    cancelRetry = options.clock.schedule(retryMs, () => void connect());
  };
  const connect = async () => {
    try {
      const pooled = await checkOutClient(options.pool);
      if (closed) return pooled.release(true);
      current = pooled;
      const onLost = () => {
        if (current === pooled) reconnectLater();
      };
      pooled.client.on("notification", options.wake);
      pooled.client.on("end", onLost);
      pooled.client.on("error", onLost);
      await pooled.client.query(`LISTEN ${options.channel}`);
      options.wake();
    } catch {
      // The server cannot be reached; polling continues meanwhile.
      reconnectLater();
    }
  };

  await connect();
  return async () => {
    closed = true;
    cancelRetry();
    release();
  };
}

const retryMs = 1_000;
