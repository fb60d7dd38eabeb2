import type { InboxRowState, InboxStore } from "../../receiver-kit/inbox/inbox.ts";

/** How many rows are in each state. */
export async function countStates(
  inbox: Pick<InboxStore, "list">,
): Promise<Partial<Record<InboxRowState, number>>> {
  const counts: Partial<Record<InboxRowState, number>> = {};
  for (const { state } of await inbox.list({ limit: 1_000_000 })) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
