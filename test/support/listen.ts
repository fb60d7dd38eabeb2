import { randomInt } from "node:crypto";
import { once } from "node:events";
import { Server as HttpServer } from "node:http";
import { Server as HttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type Server } from "node:net";

export interface ListeningServer extends AsyncDisposable {
  readonly port: number;
  readonly origin: string;
}

/** Listens on a free port, or on the given one, of a loopback address. Disposing also closes open HTTP connections. */
export async function listen(
  server: Server,
  port = 0,
  host: "127.0.0.1" | "::1" = "127.0.0.1",
): Promise<ListeningServer> {
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
    origin: `${server instanceof HttpsServer ? "https" : "http"}://${host === "::1" ? "[::1]" : host}:${address.port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      if (server instanceof HttpServer || server instanceof HttpsServer) server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * A port that was free a moment ago. Below those that systems give to outgoing connections, one of which might have it
 * before the caller listens on it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 30_000);
    const server = await listen(createServer(), port).catch(() => undefined);
    await server?.[Symbol.asyncDispose]();
    if (server) return port;
  }
}

/** Whether a server on 127.0.0.1 accepts connections. */
export function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const end = (accepts: boolean) => {
      socket.destroy();
      resolve(accepts);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}
