// The side of a server that runs in a process of its own, so that its processor time is its own.

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export type Told =
  | { readonly port: number; readonly apiKey?: string | undefined }
  | { readonly cpuUs: number }
  | { readonly count: number };

export type ServedOptions = {
  /** How much of its work is done. */
  readonly count?: () => Promise<number>;
  readonly apiKey?: string;
};

/** Tells the parent the port, and afterwards the processor time used so far whenever it asks. */
export async function served(server: Server, options: ServedOptions = {}): Promise<void> {
  if (!server.listening) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  report((server.address() as AddressInfo).port, options);
}

export function report(port: number, { count, apiKey }: ServedOptions = {}): void {
  process.on("message", (question) => {
    if (question === "cpu") {
      const { user, system } = process.cpuUsage();
      tell({ cpuUs: user + system });
    }
    if (question === "count") void count?.().then((found) => tell({ count: found }));
  });
  process.on("disconnect", () => process.exit());
  tell({ port, apiKey });
}

function tell(told: Told): void {
  process.send?.(told);
}
