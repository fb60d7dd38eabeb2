import { connect, createServer, type Socket } from "node:net";
import { listen } from "./listen.ts";

export interface CuttingProxy extends AsyncDisposable {
  readonly origin: string;
  /**
   * Cuts the connection that is sending when this many bytes have come from the client, over all of its
   * connections; then again after the next number of bytes, and so on.
   */
  cutAfter(...bytes: readonly number[]): void;
  /** Connections that were cut. */
  readonly cuts: number;
}

/** A TCP proxy on this machine that cuts connections in the middle of what the client sends. */
export async function createCuttingProxy(targetOrigin: string): Promise<CuttingProxy> {
  const target = new URL(targetOrigin);
  const sockets = new Set<Socket>();
  let cutting: number[] = [];
  let leftBytes = Number.POSITIVE_INFINITY;
  let cuts = 0;
  const nextCut = () => {
    leftBytes = cutting.shift() ?? Number.POSITIVE_INFINITY;
  };

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // Both ends are cut on purpose; what the other side makes of it is what the test looks at.
      socket.on("error", cut);
      socket.on("close", () => {
        sockets.delete(socket);
        cut();
      });
    }
    client.on("data", (bytes) => {
      upstream.write(bytes.subarray(0, leftBytes));
      leftBytes -= bytes.byteLength;
      if (leftBytes > 0) return;
      nextCut();
      cuts += 1;
      client.destroy();
      // What the service was sent before the cut still arrives there.
      upstream.end();
    });
    upstream.on("data", (bytes) => client.write(bytes));
  });
  const listening = await listen(server);

  return {
    origin: listening.origin,
    cutAfter(...bytes) {
      cutting = [...bytes];
      nextCut();
    },
    get cuts() {
      return cuts;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await listening[Symbol.asyncDispose]();
    },
  };
}
