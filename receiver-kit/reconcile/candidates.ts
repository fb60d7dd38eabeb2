import type { ReconcileCandidate } from "../inbox/order-head.ts";
import type { ReceiverSettings } from "../receiver-options.ts";

const pageMax = 500;

/** Tasks and stages whose state may be behind the service's, in the order of their keys. */
export async function* candidatesOf(
  { inbox, source }: Pick<ReceiverSettings, "inbox" | "source">,
  runningForMs: number,
): AsyncGenerator<ReconcileCandidate> {
  let afterKey: string | undefined = "";
  while (afterKey !== undefined) {
    const page = await inbox.reconcileCandidates({ source, runningForMs, afterKey, limit: pageMax });
    yield* page;
    afterKey = page.at(-1)?.key;
  }
}
