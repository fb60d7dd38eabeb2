import type { Server } from "node:net";
import { listen } from "../listen.ts";

/** A receiver on a free port until it is disposed. */
export interface RunningReceiver extends AsyncDisposable {
  readonly url: string;
  /** Returns the effects of a delivery. */
  readonly observeUrl: string;
}

export async function serveReceiver(server: Server): Promise<RunningReceiver> {
  const listening = await listen(server);
  return { ...listening, url: `${listening.origin}/webhooks`, observeUrl: `${listening.origin}/effects` };
}
