import type { HandlerTransaction } from "../../inbox.ts";
import { transactionEnded } from "../../lazy-transaction.ts";
import { controlKeyword, controlRejected, isShareable } from "../../sql/transaction-control.ts";
import {
  beginPostgresTransaction,
  type PostgresTransaction,
  type TransactionDependencies,
} from "./postgres-transaction.ts";
import type { SharedMember } from "./shared-member.ts";
import type { SharedTransactions } from "./shared-transactions.ts";

/** A transaction that is shared with other events while the handler's statements allow it. */
export function beginSharedTransaction(
  dependencies: TransactionDependencies,
  shared: SharedTransactions,
): HandlerTransaction<PostgresTransaction> {
  const { claim, settlement } = dependencies;
  let alone: HandlerTransaction<PostgresTransaction> | undefined;
  let member: SharedMember | undefined;
  let hasEnded = false;
  const throwIfEnded = () => {
    if (hasEnded) throw transactionEnded();
  };
  return {
    handle: {
      async query(statement, values) {
        if (alone) return alone.handle.query(statement, values);
        throwIfEnded();
        const keyword = controlKeyword(statement, "postgres");
        if (keyword) {
          const rejected = controlRejected(keyword);
          member ??= shared.join(claim, settlement);
          member.fail(rejected);
          throw rejected;
        }
        if (isShareable(statement)) {
          member ??= shared.join(claim, settlement);
          return member.query(statement, values);
        }
        if (member) throw member.evict("the statement concerns the whole transaction");
        alone = beginPostgresTransaction(dependencies);
        return alone.handle.query(statement, values);
      },
      async client() {
        if (alone) return alone.handle.client();
        throwIfEnded();
        if (member) throw member.evict("the client itself is not shared");
        alone = beginPostgresTransaction(dependencies);
        return alone.handle.client();
      },
    },
    get isExclusive() {
      return alone !== undefined;
    },
    commit() {
      hasEnded = true;
      if (member) return member.keep();
      return alone ? alone.commit() : dependencies.settleInGroup();
    },
    async rollback() {
      hasEnded = true;
      return member ? member.discard() : alone?.rollback();
    },
  };
}
