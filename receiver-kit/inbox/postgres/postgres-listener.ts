import type { Clock } from "../../clock.ts";
import { checkOutClient, type PooledClient, type PostgresPool } from "./postgres-pool.ts";

export type ListenerOptions = {
  readonly pool: PostgresPool;
  /** A plain identifier. */
  readonly channel: string;
  readonly clock: Clock;
  /** Called for each notification, and after each reconnection, since some may have been missed. */
  readonly wake: () => void;
};

/** Listens on a client of its own until the returned function is called; reconnects by itself. */
export async function listenForRows(options: ListenerOptions): Promise<() => Promise<void>> {
  let closed = false;
  let lease: PooledClient | undefined;
  let cancelRetry = () => {};

  const connect = async () => {
    try {
      const taken = await checkOutClient(options.pool);
      if (closed) return taken.release("destroy");
      lease = taken;
      const lostThis = () => {
        if (lease === taken) lost();
      };
      taken.client.on("notification", options.wake);
      taken.client.on("end", lostThis);
      taken.client.on("error", lostThis);
      await taken.client.query(`LISTEN ${options.channel}`);
      options.wake();
    } catch {
      // The server is away; polling goes on meanwhile.
      lost();
    }
  };
  const lost = () => {
    lease?.release("destroy");
    lease = undefined;
    if (closed) return;
    cancelRetry();
    cancelRetry = options.clock.schedule(retryMs, () => void connect());
  };

  await connect();
  return async () => {
    closed = true;
    cancelRetry();
    lease?.release("destroy");
    lease = undefined;
  };
}

const retryMs = 1_000;
