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
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  frozen: boolean;
}

/**
 * A TCP proxy on 127.0.0.1 whose connections can fall silent without being closed.
 *
 * @param target a port, or a function that returns that of the next connection
 */
export async function createFreezingProxy(target: number | (() => number)): Promise<FreezingProxy> {
  const targetPort = typeof target === "number" ? () => target : target;
  const pairs = new Set<Pair>();
  let freezesNew = false;

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
      from.on("data", (bytes) => to.write(bytes));
      from.on("end", () => to.end());
      from.on("error", () => from.destroy());
      from.on("close", () => end(pair));
    }
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
