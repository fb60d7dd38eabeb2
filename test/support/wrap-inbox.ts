import type { InboxStore } from "../../receiver-kit/inbox/inbox.ts";

type AnyMethod = (...values: unknown[]) => Promise<unknown>;

/** Runs one call of an inbox; `method` is the method's name, or `commit`, `rollback` or `unsubscribe`. */
export type AroundCall = <Result>(method: string, call: () => Promise<Result>) => Promise<Result>;

/** The inbox with some of its members replaced. */
export function overrideInbox<Transaction>(
  inbox: InboxStore<Transaction>,
  members: Partial<InboxStore<Transaction>>,
): InboxStore<Transaction> {
  return new Proxy(inbox, {
    get(target, name: keyof InboxStore<Transaction>) {
      const member = members[name] ?? target[name];
      return typeof member === "function" ? (member as AnyMethod).bind(target) : member;
    },
  });
}

/** The inbox with every asynchronous call passed through `around`, those of its transactions included. */
export function interceptInbox<Transaction>(
  inbox: InboxStore<Transaction>,
  around: AroundCall,
): InboxStore<Transaction> {
  return new Proxy(inbox, {
    get(target, name: keyof InboxStore<Transaction>) {
      const member = target[name];
      if (typeof member !== "function") return member;
      if (name === "begin") {
        return (...values: Parameters<InboxStore<Transaction>["begin"]>) => {
          const transaction = target.begin(...values);
          return {
            handle: transaction.handle,
            get fault() {
              return transaction.fault;
            },
            commit: () => around("commit", () => transaction.commit()),
            rollback: () => around("rollback", () => transaction.rollback()),
          };
        };
      }
      return async (...values: unknown[]) => {
        const result = await around(String(name), () => (member as AnyMethod).apply(target, values));
        return name === "subscribe" ? () => around("unsubscribe", result as () => Promise<void>) : result;
      };
    },
  });
}
