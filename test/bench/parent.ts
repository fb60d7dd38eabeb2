// The other side of `processes.ts`: what is measured runs in a process of its own, so that its CPU time is only its own.

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Tells the parent that this process is ready, and answers each of its requests. */
export function answerParent<Request>(ready: unknown, answer: (request: Request) => unknown): void {
  process.on("disconnect", () => process.exit());
  process.on("message", async (request) => {
    try {
      process.send?.(await answer(request as Request));
    } catch (error) {
      console.error(error);
      process.exit(1);
    }
  });
  process.send?.(ready);
}

/** `port` and `workspaceToken` when it listens; afterwards the value that was asked for by its name. */
export interface ServerMessage {
  readonly port?: number;
  readonly workspaceToken?: string;
  readonly cpuUs?: number;
  readonly count?: number;
}

/** @param count the operations done so far */
export function reportServer(ready: ServerMessage, count: () => number = () => Number.NaN): void {
  answerParent(ready, (question: string): ServerMessage => {
    const { user, system } = process.cpuUsage();
    return question === "cpuUs" ? { cpuUs: user + system } : { count: count() };
  });
}

export async function serve(server: Server, count?: () => number): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  reportServer({ port: (server.address() as AddressInfo).port }, count);
}
