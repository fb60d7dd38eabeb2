// A call of an inbox may never return, for example when its connection died silently. The inboxes of this package limit
// their own calls; here every call has a last limit, whatever the inbox is, so that no loop of the receiver waits for
// one call without end: the simulation's planted bug `calls-without-limit`. `insert` is limited where deliveries are
// accepted, by `acceptTimeoutMs`. What a call does after its limit is harmless: rows are unique, and claims are fenced.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { withTimeout } from "@workspace-tasks/kernel/with-timeout.ts";
import { ReceiverError } from "../errors.ts";
import type { HandlerTransaction } from "./inbox.ts";

export interface InboxLimits {
  readonly clock: Clock;
  /** Of which one call may take a third, so that a lease is renewed again before it ends, or 10 s where that is longer. */
  readonly leaseMs: number;
}

type AnyMethod = (...values: unknown[]) => unknown;

const callTimeoutMsMin = 10_000;
/** They read or change many rows, and have six times as long. */
const slowMethods = new Set(["list", "stats", "purge", "reconcileCandidates", "subscribe"]);
// A migration of a large table takes minutes.
const openTimeoutMs = 1_200_000;

/** The inbox, or a part of it, with a time limit for each call. @throws {ReceiverError} `INBOX_UNAVAILABLE` at the limit */
export function limitInbox<Part extends object>(inbox: Part, limits: InboxLimits): Part {
  const timeoutMs = Math.max(callTimeoutMsMin, Math.round(limits.leaseMs / 3));
  const limit = <Result>(name: string, result: Promise<Result>, limitMs = timeoutMs) => {
    const rule = name === "open" ? "" : ", which follows from leaseMs";
    const message = `inbox: ${name} did not return within ${limitMs} ms${rule}`;
    const late = () => new ReceiverError("INBOX_UNAVAILABLE", message);
    return withTimeout(result, limitMs, limits.clock, late);
  };
  const limitOf = (name: string) => {
    if (name === "open") return openTimeoutMs;
    return slowMethods.has(name) ? 6 * timeoutMs : timeoutMs;
  };
  const limitedMethod = (name: string, method: AnyMethod): AnyMethod => {
    const limitMs = limitOf(name);
    return (...values) => {
      const result = method.apply(inbox, values);
      if (name === "begin") return limitTransaction(result as AnyTransaction, limit);
      if (!(result instanceof Promise) || name === "insert") return result;
      return limit(name, result, limitMs);
    };
  };
  const methods = new Map<unknown, AnyMethod>();
  return new Proxy(inbox, {
    get(target, name: string) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const method = methods.get(member) ?? limitedMethod(name, member as AnyMethod);
      methods.set(member, method);
      return method;
    },
  });
}

/** The error of a call that requests wait for, which is limited where they wait. */
export const lateInbox = (method: string, acceptTimeoutMs: number) => () =>
  new ReceiverError(
    "INBOX_UNAVAILABLE",
    `inbox: ${method} did not return within acceptTimeoutMs (${acceptTimeoutMs})`,
  );

type AnyTransaction = HandlerTransaction<unknown>;
type Limit = <Result>(name: string, result: Promise<Result>) => Promise<Result>;

function limitTransaction(transaction: AnyTransaction, limit: Limit): AnyTransaction {
  return {
    handle: transaction.handle,
    get isExclusive() {
      return transaction.isExclusive;
    },
    commit: () => limit("commit", transaction.commit()),
    rollback: () => limit("rollback", transaction.rollback()),
  };
}
