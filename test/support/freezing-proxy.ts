import { connect, createServer, type Socket } from "node:net";
import { listen } from "./listen.ts";

export interface FreezingProxy extends AsyncDisposable {
  readonly port: number;
  /** Existing connections transfer nothing more and stay open, as after a cable was cut; new ones work. */
  freezeExisting(): void;
  /** As `freezeExisting`, and new connections get no response either. */
  freezeAll(): void;
  /** Closes the existing connections for the server alone: their clients see nothing of it, until `heal`. */
  halfOpenExisting(): void;
  /** Closes the existing connections, silent ones too. */
  closeExisting(): void;
  /** Everything that was held back is transferred. */
  heal(): void;
  /**
   * Closes the sending connection after this many bytes from the client, counted over all its connections, and again after
   * each further number of bytes. What was sent before still reaches the server.
   */
  cutAfter(...bytes: readonly number[]): void;
  /** How many connections `cutAfter` has closed. */
  readonly cuts: number;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  frozen: boolean;
}

/**
 * A TCP proxy on 127.0.0.1 whose connections can fall silent without being closed, or be closed while the client sends.
 *
 * @param target a port, or a function that returns that of the next connection
 */
export async function createFreezingProxy(target: number | (() => number)): Promise<FreezingProxy> {
  const targetPort = typeof target === "number" ? () => target : target;
  const pairs = new Set<Pair>();
  let freezesNew = false;
  let cutting: number[] = [];
  let cuts = 0;

  const setFrozen = (pair: Pair, frozen: boolean) => {
    pair.frozen = frozen;
    for (const socket of [pair.client, pair.upstream]) {
      if (frozen) socket.pause();
      else socket.resume();
    }
    if (!frozen && (pair.client.destroyed || pair.upstream.destroyed)) end(pair);
  };
  const end = (pair: Pair) => {
    // A frozen network does not transfer the end of a connection either.
    if (pair.frozen) return;
    pairs.delete(pair);
    pair.client.destroy();
    pair.upstream.destroy();
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: targetPort(), host: "127.0.0.1", allowHalfOpen: true });
    const pair: Pair = { client, upstream, frozen: false };
    pairs.add(pair);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on("end", () => to.end());
      from.on("error", () => from.destroy());
      from.on("close", () => end(pair));
    }
    client.on("data", (bytes) => {
      const [left = Number.POSITIVE_INFINITY] = cutting;
      upstream.write(bytes.subarray(0, left));
      cutting[0] = left - bytes.byteLength;
      if (bytes.byteLength < left) return;
      cutting.shift();
      cuts += 1;
      client.destroy();
      upstream.end();
    });
    upstream.on("data", (bytes) => client.write(bytes));
    if (freezesNew) setFrozen(pair, true);
  });
  const listening = await listen(server);

  const freezeExisting = () => {
    for (const pair of pairs) setFrozen(pair, true);
  };
  return {
    port: listening.port,
    freezeExisting,
    freezeAll() {
      freezesNew = true;
      freezeExisting();
    },
    halfOpenExisting() {
      freezeExisting();
      for (const { upstream } of pairs) upstream.destroy();
    },
    closeExisting() {
      for (const pair of [...pairs]) {
        pair.frozen = false;
        end(pair);
      }
    },
    heal() {
      freezesNew = false;
      for (const pair of [...pairs]) setFrozen(pair, false);
    },
    cutAfter(...bytes) {
      cutting = [...bytes];
    },
    get cuts() {
      return cuts;
    },
    async [Symbol.asyncDispose]() {
      for (const { client, upstream } of pairs) {
        client.destroy();
        upstream.destroy();
      }
      await listening[Symbol.asyncDispose]();
    },
  };
}

export function healAll(proxies: readonly FreezingProxy[]): void {
  for (const proxy of proxies) proxy.heal();
}
