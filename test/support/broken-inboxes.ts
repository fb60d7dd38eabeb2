import type { MemoryTransaction } from "@workspace-tasks/receiver-kit";
import type { InboxClaim, InboxStore } from "../../receiver-kit/inbox/inbox.ts";
import { overrideInbox } from "./wrap-inbox.ts";

// Inboxes without one of their guards, for tests that show what the guard prevents.

type MemoryInbox = InboxStore<MemoryTransaction>;

/** Every copy of a delivery becomes a row. */
export function withoutUniqueness(inbox: MemoryInbox): MemoryInbox {
  let copies = 0;
  return overrideInbox(inbox, {
    insert: (row) => inbox.insert({ ...row, id: `${row.id}#${copies++}` }),
  });
}

/** Settles in the name of the current claim, as a settle statement without the generation would. */
export function withoutFencing(inbox: MemoryInbox): MemoryInbox {
  const currentClaims = new Map<number, InboxClaim>();
  return overrideInbox(inbox, {
    async claim(options) {
      const result = await inbox.claim(options);
      for (const claim of result.claims) currentClaims.set(claim.seq, claim);
      return result;
    },
    begin(items, options) {
      const begun = inbox.begin(items, options);
      const changes: (() => void)[] = [];
      return {
        handle: { apply: (change) => void changes.push(change) },
        rollback: () => begun.rollback(),
        commit() {
          const held = items.map(({ claim, settlement }) => {
            return { claim: currentClaims.get(claim.seq) ?? claim, settlement };
          });
          const current = inbox.begin(held, options);
          for (const change of changes) change();
          return current.commit();
        },
      };
    },
  });
}
