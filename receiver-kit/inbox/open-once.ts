import type { InboxConnection } from "./inbox.ts";

/** Opens an inbox at the first call, and again at the next call when that failed. */
export function openOnce(inbox: Pick<InboxConnection, "open">): () => Promise<void> {
  let opened: Promise<void> | undefined;
  return () => {
    opened ??= inbox.open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}
