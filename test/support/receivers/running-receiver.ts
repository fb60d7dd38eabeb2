import { Server as HttpServer } from "node:http";
import { Server as HttpsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";

/** A receiver that listens on a port of its own until it is disposed. */
export type RunningReceiver = AsyncDisposable & {
  readonly url: string;
  /** Where it tells its effects, if it does. */
  readonly observeUrl?: string;
};

export async function listen(
  server: Server,
  paths: { readonly webhooks: string; readonly effects?: string },
): Promise<RunningReceiver> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const scheme = server instanceof HttpsServer ? "https" : "http";
  const origin = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: origin + paths.webhooks,
    ...(paths.effects === undefined ? {} : { observeUrl: origin + paths.effects }),
    async [Symbol.asyncDispose]() {
      if (server instanceof HttpServer || server instanceof HttpsServer) server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}
