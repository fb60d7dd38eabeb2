import type * as ReceiverKit from "@workspace-tasks/receiver-kit";
import type * as Sdk from "@workspace-tasks/sdk";
import { importPatched, type Patch } from "./bundles.ts";
import type { Invariant } from "./invariants.ts";
import type { Products } from "./world.ts";

// Known bugs. If the simulation does not detect one of them, it proves nothing about the guard that the mutant lacks.

export type Mutant = {
  readonly name: string;
  /** What is wrong with it. */
  readonly bug: string;
  /** The invariants that it may violate first. */
  readonly violates: readonly Invariant[];
  readonly product: "sdk" | "receiver-kit";
  readonly patches: readonly Patch[];
};

export const mutants: readonly Mutant[] = [
  {
    name: "no-uniqueness",
    bug: "every copy of a delivery becomes a row",
    violates: ["I1", "I2", "I6"],
    product: "receiver-kit",
    patches: [{ find: "if (this.#seqs.has(name)) return undefined;", replace: "" }],
  },
  {
    name: "acknowledge-before-commit",
    bug: "a delivery is acknowledged before its row is committed",
    violates: ["I1"],
    product: "receiver-kit",
    patches: [
      {
        find: "return orUnavailable(settings, method, stored(), leftMs);",
        replace: 'stored().catch(() => {});\n    return { outcome: "new" } as Result;',
      },
    ],
  },
  {
    name: "no-fencing",
    bug: "a worker whose lease has expired can settle the row",
    violates: ["I3", "I4"],
    product: "receiver-kit",
    patches: [{ find: 'if (!keys.every((key) => key !== undefined)) return "lost";', replace: "" }],
  },
  {
    name: "endless-lease",
    bug: "a row that a crashed process had claimed is never claimed again",
    violates: ["I5", "E1"],
    product: "receiver-kit",
    patches: [
      {
        find: "died.push(...recoverKey(storage, key.id, recovered, options, nowMs));",
        replace: "",
      },
    ],
  },
  {
    name: "late-insert-acknowledged",
    bug: "a delivery that the inbox did not store in time is acknowledged",
    violates: ["I1"],
    product: "receiver-kit",
    patches: [
      {
        find: "return orUnavailable(settings, method, stored(), leftMs);",
        replace:
          'return orUnavailable(settings, method, stored(), leftMs).catch(() => ({ outcome: "new" }) as Result);',
      },
    ],
  },
  {
    name: "api-times-trusted",
    bug: "a time of the tasks API in the far future becomes an ordering head",
    violates: ["C2"],
    product: "receiver-kit",
    patches: [
      {
        find: "return at !== undefined && !isFarFuture(at, nowMs) ? at : undefined;",
        replace: "return at;",
      },
    ],
  },
  {
    name: "reconcile-compares-times",
    bug: "a status with an older time than the head is never applied, although the tasks API says so",
    violates: ["E1"],
    product: "receiver-kit",
    patches: [
      { find: "if (head.position !== before || isRecent) {", replace: "if (head.position.length > 0) {" },
    ],
  },
  {
    name: "candidates-left-out",
    bug: "a reconciliation fetches only the first of the candidates",
    violates: ["R1"],
    product: "receiver-kit",
    patches: [
      {
        find: "for (const candidate of page) await",
        replace: "for (const candidate of page.slice(0, 1)) await",
      },
    ],
  },
  {
    name: "retired-secret",
    bug: "a retired secret still verifies",
    violates: ["I6", "I2"],
    product: "receiver-kit",
    patches: [
      {
        find: "cache.delete(oldest);\n    return keys;",
        replace: "cache.delete(oldest);\n    return [...cache.values()].flat();",
      },
    ],
  },
  {
    name: "workspace-of-another-tenant",
    bug: "an event that names another tenant's workspace is accepted",
    violates: ["T1"],
    product: "receiver-kit",
    patches: [
      {
        find: "if (named === undefined || named === null || named === tenant.workspaceId) return;",
        replace: "if (named !== tenant) return;",
      },
    ],
  },
  {
    name: "ids-of-all-tenants",
    bug: "a delivery is taken for a copy of another tenant's with the same id",
    violates: ["I1", "T1"],
    product: "receiver-kit",
    patches: [
      {
        find: "const nameOf = (source: string, name: string) => JSON.stringify([source, name]);",
        replace: "const nameOf = (_: string, name: string) => name;",
      },
    ],
  },
  {
    name: "one-request-too-many",
    bug: "the limiter permits one request more than the limit",
    violates: ["L1"],
    product: "sdk",
    patches: [{ find: "if (needed < 0) return 0;", replace: "if (needed <= 0) return 0;" }],
  },
  {
    name: "permit-before-token",
    bug: "a call takes its slot before the token exchange",
    violates: ["L2"],
    product: "sdk",
    patches: [
      {
        find: "const credential = credentials.take() ?? (await this.#exchanged(credentials));",
        replace: "const credential = credentials.take() ?? (await credentials.unexchanged());",
      },
      {
        find: "if (free) return { credential, permit: free };",
        replace:
          "if (free) return { credential: credentials.take() ?? (await this.#exchanged(credentials)), permit: free };",
      },
      {
        find: "  /** A usable token, waited for as long as the scope.",
        replace:
          '  async unexchanged(): Promise<any> {\n    return { token: "", isAccepted: false, keyHash: sha256(await readKey(this.#options)) };\n  }\n\n  /** A usable token, waited for as long as the scope.',
      },
    ],
  },
  {
    name: "retry-unknown-mutation",
    bug: "a mutation with an unknown outcome is retried",
    violates: ["O1"],
    product: "sdk",
    patches: [
      {
        find: 'if (!state.idempotent && outcome === "unknown") return undefined;',
        replace: "",
      },
    ],
  },
];

export type MutantProducts = Disposable & { readonly products: Partial<Products> };

/** The products with the mutant's bug. */
export async function productsOf(mutant: Mutant): Promise<MutantProducts> {
  if (mutant.product === "sdk") {
    const { module, [Symbol.dispose]: dispose } = await importPatched<typeof Sdk>("sdk", mutant);
    return { products: { sdk: module }, [Symbol.dispose]: dispose };
  }
  const patched = await importPatched<typeof ReceiverKit>("receiver-kit", mutant);
  return { products: { receiverKit: patched.module }, [Symbol.dispose]: patched[Symbol.dispose] };
}
