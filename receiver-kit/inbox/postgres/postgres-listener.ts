import type { Clock } from "../../clock.ts";
import { type Lease, leaseClient, type PostgresPool } from "./postgres-pool.ts";

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
  let lease: Lease | undefined;
  let cancelRetry = () => {};

  const connect = async () => {
    try {
      const taken = await leaseClient(options.pool);
      if (closed) return taken.giveBack("destroy");
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
    lease?.giveBack("destroy");
    lease = undefined;
    if (closed) return;
    cancelRetry();
    cancelRetry = options.clock.schedule(retryMs, () => void connect());
  };

  await connect();
  return async () => {
    closed = true;
    cancelRetry();
    lease?.giveBack("destroy");
    lease = undefined;
  };
}

const retryMs = 1_000;
