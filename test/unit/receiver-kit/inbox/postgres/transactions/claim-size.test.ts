import { describe, expect, it } from "vitest";
import type { InboxClaim } from "../../../../../../receiver-kit/inbox/inbox.ts";
import { ClaimSize } from "../../../../../../receiver-kit/inbox/postgres/transactions/claim-size.ts";

/** One row per entry, of the key that it names. */
const claimsOf = (keys: readonly string[]) => {
  const leases = new Map(keys.map((key) => [key, { key }]));
  return keys.map((key) => ({ lease: leases.get(key) })) as unknown as readonly InboxClaim[];
};

describe("the size of a claim", () => {
  it("is one key per row until rows are known, and follows the rows per key of the last claim", () => {
    const size = new ClaimSize();
    expect(size.keysFor(100)).toBe(100);
    size.observe(claimsOf(["a", "a", "a", "a", "b", "b", "b", "b"]));
    expect(size.keysFor(100)).toBe(28);
    expect(size.keysFor(1)).toBe(1);
    size.observe(claimsOf(["a", "b"]));
    expect(size.keysFor(100)).toBe(100);
  });

  it("does not change with a claim that found nothing", () => {
    const size = new ClaimSize();
    size.observe(claimsOf(["a", "a"]));
    size.observe([]);
    expect(size.keysFor(100)).toBe(56);
  });
});
