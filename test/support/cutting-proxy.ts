import { connect, createServer, type Socket } from "node:net";
import { listen } from "./listen.ts";

export interface CuttingProxy extends AsyncDisposable {
  readonly origin: string;
  /**
   * Closes the sending connection after this many bytes from the client, counted over all its connections, and again
   * after each further number of bytes.
   */
  cutAfter(...bytes: readonly number[]): void;
  /** Number of closed connections. */
  readonly cuts: number;
}

/** A TCP proxy on 127.0.0.1 that closes connections while the client sends. */
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
      // The proxy closes both ends on purpose, so errors of the sockets are expected.
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
      // Bytes sent before the close still reach the service.
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
