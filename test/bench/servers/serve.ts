// The server side of `server-process.ts`: a process of its own, so that its CPU time is only that of the server.

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** `port` and `workspaceToken` when it listens; afterwards the value that was asked for by its name. */
export interface ServerMessage {
  readonly port?: number;
  readonly workspaceToken?: string;
  readonly cpuUs?: number;
  readonly count?: number;
}

/** @param count the operations done so far */
export async function serve(server: Server, count?: () => number): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  report({ port: (server.address() as AddressInfo).port }, count);
}

export function report(ready: ServerMessage, count: () => number = () => Number.NaN): void {
  const send = (message: ServerMessage) => process.send?.(message);
  process.on("message", (question) => {
    const { user, system } = process.cpuUsage();
    send(question === "cpuUs" ? { cpuUs: user + system } : { count: count() });
  });
  process.on("disconnect", () => process.exit());
  send(ready);
}
