import type { Inbox, InboxClaim, MemoryTransaction, NewInboxRow } from "workspace-tasks/receiver-kit";
import { overrideInbox } from "./wrap-inbox.ts";

// Inboxes without one of their guards, for tests that show what the guard prevents.

type MemoryInbox = Inbox<MemoryTransaction>;

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
    begin(claim, settlement, options) {
      const begun = inbox.begin(claim, settlement, options);
      const changes: (() => void)[] = [];
      return {
        handle: { apply: (change) => void changes.push(change) },
        rollback: () => begun.rollback(),
        commit() {
          const current = inbox.begin(currentClaims.get(claim.seq) ?? claim, settlement, options);
          for (const change of changes) change();
          return current.commit();
        },
      };
    },
  });
}

type Break = (inbox: MemoryInbox) => MemoryInbox & { crash?(): void };

/** Runs `change` on the claims of the inbox. */
const withClaims = (change: (claim: InboxClaim) => InboxClaim) => (inbox: MemoryInbox) =>
  overrideInbox(inbox, {
    async claim(options) {
      const result = await inbox.claim(options);
      return { ...result, claims: result.claims.map(change) };
    },
  });

/** Inboxes that break one promise each, with the check that must find it. */
export const brokenInboxes: readonly {
  readonly fault: string;
  readonly check: string;
  readonly make: Break;
}[] = [
  {
    fault: "every copy of a delivery becomes a row",
    check: "stores an id once for concurrent copies through several processes",
    make: withoutUniqueness,
  },
  {
    fault: "an id that is handled is forgotten",
    check: "recognises a duplicate in every state of its row",
    make: (inbox) =>
      overrideInbox(inbox, {
        insert: async (row) =>
          (await inbox.get(row))?.state === "dead" ? { outcome: "new" } : inbox.insert(row),
      }),
  },
  {
    fault: "bodies are stored as text",
    check: "stores any bytes unchanged, and copies them",
    make: (inbox) =>
      overrideInbox(inbox, {
        insert: (row) => inbox.insert({ ...row, body: Buffer.from(Buffer.from(row.body).toString()) }),
      }),
  },
  {
    fault: "a duplicate is compared with nothing",
    check: "stores the body of each of many concurrent deliveries, and compares each duplicate with its own",
    make: (inbox) =>
      overrideInbox(inbox, {
        insert: async (row) =>
          (await inbox.insert(row)).outcome === "new"
            ? { outcome: "new" }
            : { outcome: "duplicate", sameBody: true },
      }),
  },
  {
    fault: "a delivery is acknowledged before it is durable",
    check: "keeps every delivery that was acknowledged before the crash",
    make(inbox) {
      const waiting: NewInboxRow[] = [];
      const flush = async () => {
        for (const row of waiting.splice(0)) await inbox.insert(row);
      };
      const lazy = overrideInbox(inbox, {
        async insert(row) {
          waiting.push(row);
          setTimeout(flush, 5);
          return { outcome: "new" };
        },
      });
      return Object.assign(lazy, { crash: () => void waiting.splice(0) });
    },
  },
  {
    fault: "an event in quarantine is handled",
    check: "stores a quarantined delivery, which no worker claims",
    make: (inbox) => overrideInbox(inbox, { insert: (row) => inbox.insert({ ...row, quarantine: null }) }),
  },
  {
    fault: "ends are not fenced",
    check: "fences off the writes of a handler whose lease another worker took",
    make: withoutFencing,
  },
  {
    fault: "ends are fenced by the name of the worker only",
    check: "fences off a worker that took its own lease again, with its earlier claim",
    make: (inbox) => {
      const generations = new Map<number, number>();
      const claiming = withClaims((claim) => {
        generations.set(claim.lease.keyId, claim.lease.generation);
        return claim;
      })(inbox);
      return overrideInbox(claiming, {
        begin(claim, ...rest) {
          const generation = generations.get(claim.lease.keyId) ?? 0;
          return inbox.begin({ ...claim, lease: { ...claim.lease, generation } }, ...rest);
        },
      });
    },
  },
  {
    fault: "ends are fenced by the generation only",
    check: "fences off a worker with another name and the same generation",
    make: (inbox) =>
      overrideInbox(inbox, {
        begin: (claim, ...rest) =>
          inbox.begin({ ...claim, lease: { ...claim.lease, worker: "worker-1" } }, ...rest),
      }),
  },
  {
    fault: "a lease never expires",
    check: "gives a row to another worker once its lease expired, and not before",
    make: (inbox) =>
      overrideInbox(inbox, { claim: (options) => inbox.claim({ ...options, leaseMs: 1_000_000_000 }) }),
  },
  {
    fault: "a lease expires early",
    check: "gives a row to another worker once its lease expired, and not before",
    make: (inbox) =>
      overrideInbox(inbox, { claim: (options) => inbox.claim({ ...options, leaseMs: options.leaseMs / 2 }) }),
  },
  {
    fault: "renewing reports leases that are lost",
    check: "keeps a renewed lease, and returns those that are held",
    make: (inbox) =>
      overrideInbox(inbox, {
        async renew(leases, leaseMs) {
          await inbox.renew(leases, leaseMs);
          return new Set(leases);
        },
      }),
  },
  {
    fault: "rows that died are not reported",
    check: "makes a row dead whose lease expired at the last attempt, and reports it once",
    make: (inbox) =>
      overrideInbox(inbox, { claim: async (options) => ({ ...(await inbox.claim(options)), died: [] }) }),
  },
  {
    fault: "the rows of a key run at the same time",
    check: "lets one row of a key run at a time, oldest event first, in any order of arrival",
    make: (inbox) =>
      overrideInbox(inbox, { insert: (row) => inbox.insert({ ...row, orderKey: null, position: null }) }),
  },
  {
    fault: "the rows of a key are claimed in the order of arrival",
    check: "claims several rows of a key at once, in their order, up to rowsPerKeyMax",
    make: (inbox) =>
      overrideInbox(inbox, {
        async claim(options) {
          const result = await inbox.claim(options);
          return { ...result, claims: result.claims.toSorted((a, b) => a.seq - b.seq) };
        },
      }),
  },
  {
    fault: "strict order is not kept",
    check: "claims newer events of a key before one that waits for its retry, unless keyOrder is strict",
    make: (inbox) =>
      overrideInbox(inbox, { claim: (options) => inbox.claim({ ...options, keyOrder: "latest" }) }),
  },
  {
    fault: "a retry does not wait",
    check: "returns the time until the next row is due, and claims it from then on",
    make: (inbox) =>
      overrideInbox(inbox, {
        fail: (claim, failure) =>
          inbox.fail(claim, failure.kind === "retry" ? { ...failure, delayMs: 0 } : failure),
      }),
  },
  {
    fault: "a failed attempt is not counted",
    check: "counts failed attempts, and keeps the error of the last one",
    make: (inbox) =>
      overrideInbox(inbox, {
        fail: (claim, failure) => inbox.fail(claim, failure.kind === "retry" ? { kind: "release" } : failure),
      }),
  },
  {
    fault: "the head advances although the transaction is rolled back",
    check: "discards the writes of a transaction that is rolled back, and leaves row and head as they were",
    make: (inbox) =>
      overrideInbox(inbox, {
        begin(claim, settlement, options) {
          const { advance } = settlement;
          if (advance) void inbox.advanceHead({ source: claim.source, ...advance });
          const allowed = advance && { ...advance, allowSame: true };
          return inbox.begin(claim, { ...settlement, advance: allowed }, options);
        },
      }),
  },
  {
    fault: "the head moves backwards",
    check: "never moves a head backwards",
    make: (inbox) =>
      overrideInbox(inbox, {
        begin(claim, settlement, options) {
          void inbox.resetHead({ source: claim.source, key: claim.orderKey ?? "" });
          return inbox.begin(claim, settlement, options);
        },
      }),
  },
  {
    fault: "an event with the position of the head is applied again",
    check: "does not apply the same event again, unless it is replayed",
    make: (inbox) =>
      overrideInbox(inbox, {
        begin({ ...claim }, { state, advance }, options) {
          return inbox.begin(claim, { state, advance: advance && { ...advance, allowSame: true } }, options);
        },
      }),
  },
  {
    fault: "a head is compared and written in two steps",
    check: "lets one of many concurrent callers advance a head to one position",
    make: (inbox) =>
      overrideInbox(inbox, {
        async advanceHead({ source, key, position }) {
          const head = (await inbox.head(source, key))?.position ?? "";
          if (position <= head) return position === head ? "same" : "stale";
          await inbox.advanceHead({ source, key, position });
          return "newer";
        },
      }),
  },
  {
    fault: "writes are kept although the transaction is rolled back",
    check: "discards the writes of a transaction that is rolled back, and leaves row and head as they were",
    make: (inbox) =>
      overrideInbox(inbox, {
        begin(...values) {
          const transaction = inbox.begin(...values);
          return {
            handle: { apply: (change) => change() },
            commit: () => transaction.commit(),
            rollback: () => transaction.rollback(),
          };
        },
      }),
  },
  {
    fault: "every replay reports success",
    check: "lets one of concurrent replays succeed",
    make: (inbox) =>
      overrideInbox(inbox, {
        async replay(...values) {
          await inbox.replay(...values);
          return true;
        },
      }),
  },
  {
    fault: "ids are forgotten early",
    check: "keeps the id of a row that was replayed late",
    make: (inbox) =>
      overrideInbox(inbox, {
        purge: (retention, rowsMax) => inbox.purge({ ...retention, rowsMs: retention.rowsMs / 2 }, rowsMax),
      }),
  },
  {
    fault: "a clock that was set forward ends leases",
    check: "reclaims no lease that ended after the time up to which the worker trusts the clock",
    make: (inbox) =>
      overrideInbox(inbox, { claim: (options) => inbox.claim({ ...options, reclaimUntilMs: null }) }),
  },
  {
    fault: "running rows are counted as pending",
    check: "counts rows by state and returns the longest wait",
    make: (inbox) =>
      overrideInbox(inbox, {
        async stats() {
          const { rows, ...stats } = await inbox.stats();
          return { ...stats, rows: { ...rows, pending: rows.pending + rows.running, running: 0 } };
        },
      }),
  },
  {
    fault: "two requests apply a delivery at the same time",
    check: "lets one of concurrent callers begin",
    make: (inbox) =>
      overrideInbox(inbox, {
        async beginInline(...values) {
          const begun = await inbox.beginInline(...values);
          return begun.state === "busy" ? { state: "begun", generation: 1 } : begun;
        },
      }),
  },
  {
    fault: "a request that lost its lease ends the delivery",
    check: "begins again after a failure or a lost lease, and fences the earlier caller off",
    make: (inbox) =>
      overrideInbox(inbox, {
        async finishInline(...values) {
          await inbox.finishInline(...values);
          return true;
        },
      }),
  },
  {
    fault: "now and then a claim has another head",
    check: "return what a naive model returns, with seed 1 in latest order",
    make: (inbox) => {
      let claims = 0;
      return withClaims((claim) => (claims++ % 4 === 3 ? { ...claim, head: null } : claim))(inbox);
    },
  },
];
