import type * as ReceiverKit from "workspace-tasks/receiver-kit";
import type * as Sdk from "workspace-tasks/sdk";
import type { Invariant } from "./invariants.ts";
import { importMutated, type Patch } from "./mutated-product.ts";
import type { Products, Store } from "./scene.ts";

// Known ways to be wrong. A simulation that lets one of them pass proves nothing about the guard that it lacks.

export type Mutant = {
  readonly name: string;
  /** What is wrong with it. */
  readonly flaw: string;
  /** The invariants that it may violate first. */
  readonly violates: readonly Invariant[];
} & (
  | { readonly product: "sdk" | "receiver-kit"; readonly patches: readonly Patch[] }
  | { readonly inbox: (connection: Store) => Store }
  | { readonly store: () => (store: Store) => Store }
);

export const mutants: readonly Mutant[] = [
  {
    name: "no-uniqueness",
    flaw: "every copy of a delivery becomes a row of its own",
    violates: ["I1", "I2", "I6"],
    inbox(connection) {
      let copies = 0;
      return {
        ...connection,
        insert: (arrival) => connection.insert({ ...arrival, id: `${arrival.id}#${copies++}` }),
      };
    },
  },
  {
    name: "acknowledge-before-commit",
    flaw: "a delivery is acknowledged while its row is still being written",
    violates: ["I1"],
    inbox: (connection) => ({
      ...connection,
      async insert(arrival) {
        connection.insert(arrival).catch(() => {});
        return { outcome: "new" };
      },
    }),
  },
  {
    name: "acknowledge-duplicate-at-once",
    flaw: "a copy that comes while the first is being stored does not share its fate",
    violates: ["I1"],
    product: "receiver-kit",
    patches: [
      {
        find: "return first.then(() => {",
        replace: "first.catch(() => {});\n      return Promise.resolve().then(() => {",
      },
    ],
  },
  {
    name: "no-fencing",
    flaw: "whoever settles a row passes for its present holder",
    violates: ["I3", "I4"],
    store() {
      const holders = new Map<number, ReceiverKit.Claim>();
      return (store) => ({ ...store, ...withoutFencing(store, holders) });
    },
  },
  {
    name: "lease-without-end",
    flaw: "a row that a crashed process had claimed is never claimed again",
    violates: ["I5", "E1"],
    product: "receiver-kit",
    patches: [{ find: "filter((row) => row.leaseUntilMs <= nowMs)", replace: "filter(() => false)" }],
  },
  {
    name: "order-not-strict",
    flaw: "`>` became `>=`: an event is applied again when it comes under a second id",
    violates: ["I3"],
    product: "receiver-kit",
    patches: [
      {
        find: "return position < head || (position === head && replays === 0);",
        replace: "return position < head;",
      },
      { find: "!head || position > head.position ||", replace: "!head || position >= head.position ||" },
    ],
  },
  {
    name: "milliseconds",
    flaw: "`occurredAt` is read by Date, which forgets what is below a millisecond",
    violates: ["I3", "E1"],
    product: "receiver-kit",
    patches: [
      {
        find: 'return BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));',
        replace:
          "return BigInt(Date.parse(text)) * 1_000_000n + 0n * BigInt(seconds) * BigInt(fraction || 0);",
      },
    ],
  },
  {
    name: "verify-text",
    flaw: "the signature is computed over decoded text instead of the bytes",
    violates: ["I6"],
    product: "receiver-kit",
    patches: [
      {
        find: ".update(rawBody).digest(",
        replace: '.update(Buffer.from(rawBody).toString("utf8")).digest(',
      },
    ],
  },
  {
    name: "retired-secret",
    flaw: "a secret that was retired goes on verifying",
    violates: ["I6"],
    product: "receiver-kit",
    patches: [
      {
        find: "const keys = parseSecrets(texts);",
        replace: "const keys = [...parseSecrets(texts), ...(known?.keys ?? [])];",
      },
    ],
  },
  {
    name: "no-age-limit",
    flaw: "a captured delivery is accepted however old it is",
    violates: ["I6"],
    product: "receiver-kit",
    patches: [{ find: "if (ageSeconds > toleranceSeconds) {", replace: "if (ageSeconds > 1e9) {" }],
  },
  {
    name: "one-request-too-many",
    flaw: "the limiter lets one more request through than the allowance has",
    violates: ["L1"],
    product: "sdk",
    patches: [{ find: "if (place < 0) return 0;", replace: "if (place <= 0) return 0;" }],
  },
  {
    name: "slot-from-the-permit",
    flaw: "a slot is free again one window after it was taken, not after its request was answered",
    violates: ["L1"],
    product: "sdk",
    patches: [
      {
        find: "arrivedByMs: answeredAtMs, isAnswered: true",
        replace: "arrivedByMs: takenAtMs, isAnswered: true",
      },
    ],
  },
  {
    name: "permit-before-token",
    flaw: "a call takes its slot and then waits for the exchange",
    violates: ["L2"],
    product: "sdk",
    patches: [
      {
        find: "let credential = credentials.current() ?? (await scope.race(credentials.get()));",
        replace: "let credential = await credentials.unexchanged();",
      },
      {
        find: "  /** The service refused this token. */\n  invalidate(",
        replace:
          '  async unexchanged(): Promise<Credential> {\n    return { token: "", denied: new Set(), keyHash: (await this.#options.key()).hash };\n  }\n\n  /** The service refused this token. */\n  invalidate(',
      },
    ],
  },
  {
    name: "unknown-mutation-again",
    flaw: "a mutation whose outcome is unknown is sent again",
    violates: ["O1"],
    product: "sdk",
    patches: [
      {
        find: 'if (state.kind === "mutation" && failure.outcome === "unknown") return { type: "fail" };',
        replace: "",
      },
    ],
  },
];

export type MutantProducts = Disposable & { readonly products: Partial<Products> };

/** The products with the mutant's flaw. */
export async function productsOf(mutant: Mutant): Promise<MutantProducts> {
  const nothing = () => {};
  if ("inbox" in mutant) return { products: { inbox: mutant.inbox }, [Symbol.dispose]: nothing };
  if ("store" in mutant) return { products: { store: mutant.store }, [Symbol.dispose]: nothing };
  if (mutant.product === "sdk") {
    const { module, [Symbol.dispose]: dispose } = await importMutated<typeof Sdk>("sdk", mutant.patches);
    return { products: { sdk: module }, [Symbol.dispose]: dispose };
  }
  const mutated = await importMutated<typeof ReceiverKit>("receiver-kit", mutant.patches);
  return { products: { receiverKit: mutated.module }, [Symbol.dispose]: mutated[Symbol.dispose] };
}

/** Settles for the present holder, as a statement without the generation would. */
function withoutFencing(
  store: Store,
  holders: Map<number, ReceiverKit.Claim>,
): Pick<Store, "claim" | "begin"> {
  return {
    async claim(options) {
      const result = await store.claim(options);
      for (const claim of result.claims) holders.set(claim.seq, claim);
      return result;
    },
    begin(claim, settlement, options) {
      const begun = store.begin(claim, settlement, options);
      const changes: (() => void)[] = [];
      return {
        handle: { apply: (change) => void changes.push(change) },
        rollback: () => begun.rollback(),
        commit() {
          const holder = store.begin(holders.get(claim.seq) ?? claim, settlement, options);
          for (const change of changes) change();
          return holder.commit();
        },
      };
    },
  };
}
