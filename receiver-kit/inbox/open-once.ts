import type { Inbox } from "./inbox.ts";

/** Opens an inbox at the first call, and again at the next when that failed. */
export function openOnce(inbox: Inbox): () => Promise<void> {
  let opened: Promise<void> | undefined;
  return () => {
    opened ??= inbox.open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}
