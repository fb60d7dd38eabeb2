import type { HandlerTransaction } from "../../inbox.ts";
import { transactionEnded } from "../../lazy-transaction.ts";
import { controlKeyword, controlRejected, isShareable } from "../../sql/transaction-control.ts";
import {
  beginPostgresTransaction,
  type PostgresTransaction,
  type TransactionDependencies,
} from "./postgres-transaction.ts";
import type { Member } from "./shared-member.ts";
import type { SharedTransactions } from "./shared-transactions.ts";

/** A transaction that is shared with other events while the handler's statements allow it. */
export function beginSharedTransaction(
  dependencies: TransactionDependencies,
  shared: SharedTransactions,
): HandlerTransaction<PostgresTransaction> {
  const { claim, settlement, isInTurn } = dependencies;
  let alone: HandlerTransaction<PostgresTransaction> | undefined;
  let member: Member | undefined;
  let hasEnded = false;
  const throwIfEnded = () => {
    if (hasEnded) throw transactionEnded();
  };
  /** `why` it cannot go on in a shared one. */
  const goAlone = (why: string) => {
    throwIfEnded();
    if (member) throw member.evict(why);
    alone = beginPostgresTransaction(dependencies);
    return alone.handle;
  };
  return {
    handle: {
      async query(statement, values) {
        if (alone) return alone.handle.query(statement, values);
        throwIfEnded();
        const keyword = controlKeyword(statement, "postgres");
        if (keyword) {
          const rejected = controlRejected(keyword);
          member ??= shared.join(claim, settlement, {});
          member.fail(rejected);
          throw rejected;
        }
        if (isShareable(statement)) {
          member ??= shared.join(claim, settlement, { first: statement, isInTurn });
          return member.query(statement, values);
        }
        return goAlone("the statement concerns the whole transaction").query(statement, values);
      },
      async client() {
        const handle = alone?.handle ?? goAlone("the client itself is not shared");
        return handle.client();
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
