// The same calls on several inboxes and on the oracle: what each returns, and what is stored after each call, must be equal.
// After the clock was set back the oracle is left out, and the inboxes are compared with each other; nothing is purged then,
// because the databases find what is old by bisection of the times of receipt, and keep some rows for longer.

import { isDeepStrictEqual } from "node:util";
import type { Inbox, InboxClaim } from "../../receiver-kit/inbox/inbox.ts";
import {
  claimOptions,
  doneWith,
  positionAt,
  rowAt,
  transactionLimits,
} from "../../receiver-kit/testing/inbox-rows.ts";
import type { FrozenClock } from "../support/frozen-clock.ts";
import type { Counts, DifferentialPart } from "./differential-part.ts";
import { generateOperations, type InboxOperation } from "./inbox-operations.ts";
import { InboxOracle, type OracleClaim, type Retention } from "./inbox-oracle.ts";

export interface NamedInbox {
  readonly name: string;
  readonly inbox: Inbox;
}

export interface ComparedInboxes {
  readonly clock: FrozenClock;
  readonly inboxes: readonly NamedInbox[];
}

const retention: Retention = { bodiesMs: 4_000, rowsMs: 8_000, headsMs: 6_000, unhandledBodiesMs: 6_000 };
// So short that keys whose leases expire together are due together: which of them is first is not defined.
const retry = { firstDelayMs: 1, delayMsMax: 1 };
const leaseMs = 1_000;
const attemptsMax = 3;
const keyNames = ["task-0", "task-1", "task-2"];
const keyOf = (key: number) => JSON.stringify([keyNames[key]]);

type EndOperation =
  | Extract<InboxOperation, { readonly kind: "fail" }>
  | { readonly kind: "commit"; readonly n: number }
  | { readonly kind: "renew"; readonly n: number };

/** What one call returned, in a form that is equal for all of them. */
type Observation = unknown;

class InboxRun {
  readonly #compared: ComparedInboxes;
  readonly #source: string;
  readonly #keyOrder: "latest" | "strict";
  readonly #oracle = new InboxOracle();
  /** By the oracle's claim: that of each inbox. */
  readonly #claims: { readonly oracle: OracleClaim; readonly of: ReadonlyMap<Inbox, InboxClaim> }[] = [];
  readonly #ids: string[] = [];
  #wasSetBack = false;

  constructor(compared: ComparedInboxes, source: string, keyOrder: "latest" | "strict") {
    this.#compared = compared;
    this.#source = source;
    this.#keyOrder = keyOrder;
    this.#oracle.nowMs = compared.clock.ms;
  }

  /** Returns how the results differ, or undefined. */
  async step(operation: InboxOperation): Promise<string | undefined> {
    const { clock, inboxes } = this.#compared;
    if (operation.kind === "time") {
      clock.ms += operation.byMs;
      this.#wasSetBack ||= operation.byMs < 0;
      this.#oracle.nowMs = clock.ms;
    }
    const { ofOracle, of } = this.#plan(operation);
    const expected = ofOracle();
    const results: Observation[] = [];
    for (const { inbox } of inboxes) results.push(await of(inbox));
    const returned = this.#difference("returned", expected, results);
    if (returned !== undefined) return returned;
    const states: Observation[] = [];
    for (const { inbox } of inboxes) states.push(await this.#stateOf(inbox));
    return this.#difference("stored", this.#oracle.state(), states);
  }

  #difference(what: string, ofOracle: Observation, results: readonly Observation[]): string | undefined {
    const [first, ...others] = this.#wasSetBack ? results : [ofOracle, ...results];
    const at = others.findIndex((other) => !isDeepStrictEqual(plain(other), plain(first)));
    if (at < 0) return undefined;
    const names = this.#compared.inboxes.map(({ name }) => name);
    const [reference, compared] = this.#wasSetBack ? [names[0], names[at + 1]] : ["the oracle", names[at]];
    return `${what}: ${reference}: ${JSON.stringify(first)}, ${compared}: ${JSON.stringify(others[at])}`;
  }

  #plan(operation: InboxOperation): { ofOracle(): Observation; of(inbox: Inbox): Promise<Observation> } {
    const oracle = this.#oracle;
    const source = this.#source;
    switch (operation.kind) {
      case "insert": {
        const row = this.#newRow(operation);
        return { ofOracle: () => oracle.insert(row), of: (inbox) => inbox.insert(row) };
      }
      case "claim":
        return this.#claim();
      case "replay": {
        const id = this.#idAt(operation.n);
        const { event, orderKey, position, status, workspaceId } = this.#columns(
          operation.key,
          operation.second,
          id,
        );
        const columns = { event, orderKey, position, status, workspaceId };
        return {
          ofOracle: () => oracle.replay(id, columns),
          of: (inbox) => inbox.replay({ source, id }, columns),
        };
      }
      case "discard": {
        const id = this.#idAt(operation.n);
        return { ofOracle: () => oracle.discard(id), of: (inbox) => inbox.discard({ source, id }) };
      }
      case "resetHead": {
        const key = keyOf(operation.key);
        return { ofOracle: () => oracle.resetHead(key), of: (inbox) => inbox.resetHead({ source, key }) };
      }
      case "head": {
        const key = keyOf(operation.key);
        const position = positionAt(operation.second, "RUNNING", "same");
        const of = (inbox: Inbox) => inbox.advanceHead({ source, key, position });
        return { ofOracle: () => oracle.advanceHead(key, position), of };
      }
      case "purge":
        return { ofOracle: () => oracle.purge(retention), of: purgeAll };
      case "time":
        return { ofOracle: () => undefined, of: async () => undefined };
      default:
        return this.#end(operation);
    }
  }

  #idAt = (n: number) => this.#ids[n % this.#ids.length] ?? "none";

  #columns(key: number | null, second: number, id: string) {
    const position = key === null ? null : positionAt(second, "RUNNING", id.endsWith("1") ? "same" : id);
    const row = rowAt(keyNames[key ?? 0] ?? "", second, { id, source: this.#source, position });
    return key === null ? { ...row, orderKey: null } : row;
  }

  #newRow({ key, second, repeats, text, isQuarantined }: InboxOperation & { kind: "insert" }) {
    const id = repeats !== null && this.#ids.length > 0 ? this.#idAt(repeats) : `msg_${this.#ids.length + 1}`;
    if (!this.#ids.includes(id)) this.#ids.push(id);
    const quarantine = isQuarantined ? "odd" : null;
    return { ...this.#columns(key, second, id), body: Buffer.from(text), quarantine };
  }

  #claim() {
    const worker = `worker-${this.#claims.length}-${this.#compared.clock.ms}-${this.#ids.length}`;
    const found = new Map<string, Map<Inbox, InboxClaim>>();
    const keyOrder = this.#keyOrder;
    const options = claimOptions({
      ...{ source: this.#source, worker, keyOrder, retry, leaseMs, attemptsMax, rowsMax: 1_000 },
    });
    return {
      ofOracle: () => {
        const { claims, died } = this.#oracle.claim(worker, leaseMs, attemptsMax, keyOrder);
        for (const claim of claims) {
          const of = new Map<Inbox, InboxClaim>();
          found.set(claim.id, of);
          this.#claims.push({ oracle: claim, of });
        }
        return { claims: claims.map(({ id, attempts, head }) => ({ id, attempts, head })), died };
      },
      of: async (inbox: Inbox) => {
        const { claims, died } = await inbox.claim(options);
        for (const claim of claims) this.#keep(found, inbox, claim);
        const seen = claims.map(({ id, attempts, head }) => ({ id, attempts, head }));
        return {
          claims: seen.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
          died: died.map(({ id }) => id).toSorted(),
        };
      },
    };
  }

  /** After the clock was set back the oracle claims other rows, and only the inboxes count. */
  #keep(found: Map<string, Map<Inbox, InboxClaim>>, inbox: Inbox, claim: InboxClaim): void {
    const of = found.get(claim.id) ?? new Map<Inbox, InboxClaim>();
    of.set(inbox, claim);
    if (found.has(claim.id)) return;
    found.set(claim.id, of);
    const { id, attempts, head, lease, orderKey } = claim;
    this.#claims.push({
      oracle: { id, attempts, head, worker: lease.worker, key: orderKey ?? `id:${id}` },
      of,
    });
  }

  #end(operation: EndOperation) {
    const held = this.#claims[operation.n % this.#claims.length];
    const nothing = { ofOracle: () => undefined, of: async () => undefined };
    if (!held) return nothing;
    const { oracle, of } = held;
    const onEach =
      (call: (inbox: Inbox, claim: InboxClaim) => Promise<Observation>) => async (inbox: Inbox) => {
        const claim = of.get(inbox);
        return claim && call(inbox, claim);
      };
    if (operation.kind === "renew") {
      return {
        ofOracle: () => this.#oracle.renew(oracle, leaseMs),
        of: onEach(async (inbox, { lease }) => (await inbox.renew([lease], leaseMs)).has(lease)),
      };
    }
    if (operation.kind === "commit") {
      const allowSame = operation.n % 3 === 0;
      return {
        ofOracle: () => this.#oracle.commit(oracle, allowSame),
        of: onEach((inbox, claim) =>
          inbox.begin(claim, doneWith(claim, { allowSame }), transactionLimits).commit(),
        ),
      };
    }
    const { as: kind, delayMs } = operation;
    const failure = kind === "release" ? { kind } : { kind, delayMs, error: "no" };
    return {
      ofOracle: () => this.#oracle.fail(oracle, kind, delayMs),
      of: onEach((inbox, claim) => inbox.fail(claim, failure)),
    };
  }

  async #stateOf(inbox: Inbox): Promise<Observation> {
    const source = this.#source;
    const rows = await inbox.list({ source, limit: 10_000 });
    const heads = await inbox.listHeads({ source, limit: 100 });
    return {
      rows: rows.toReversed().map(({ id, state, attempts, replays, lastError, bodyBytes }) => {
        return { id, state, attempts, replays, error: lastError, hasBody: bodyBytes !== null };
      }),
      heads: heads.map(({ key, position }) => ({ key, position })),
      backlog: await inbox.backlog(source, 10_000),
    };
  }
}

/** Names of properties in one order, and no prototypes. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));

async function purgeAll(inbox: Inbox): Promise<undefined> {
  for (let changed = 1; changed > 0; ) changed = await inbox.purge(retention, 100);
}

let runs = 0;

async function compareOperations(
  compared: ComparedInboxes,
  operations: readonly InboxOperation[],
  seed: number,
  counts: Counts,
): Promise<string | undefined> {
  runs += 1;
  const run = new InboxRun(compared, `run-${runs}`, seed % 2 ? "latest" : "strict");
  const { clock } = compared;
  let latestMs = clock.ms;
  for (const [number, operation] of operations.entries()) {
    latestMs = Math.max(latestMs, clock.ms);
    counts.add(operation.kind === "time" && operation.byMs < 0 ? "the clock is set back" : operation.kind);
    const problem = await run.step(operation);
    if (problem !== undefined) return `call ${number + 1}, ${operation.kind}: ${problem}`;
  }
  // Whatever was stored in a wrong order is old when the next sequence begins.
  if (clock.ms < latestMs) clock.ms = latestMs;
  clock.ms += 60_000;
  return undefined;
}

/** Leaves out halves, quarters and so on, then single calls, for as long as something differs. */
async function shrink(
  compared: ComparedInboxes,
  operations: readonly InboxOperation[],
  seed: number,
  found: string,
): Promise<string> {
  const ignored = { add: () => {} };
  const problemOf = (some: readonly InboxOperation[]) =>
    compareOperations(compared, some, seed, ignored).catch(String);
  let kept = operations;
  let problem = (await problemOf(kept)) ?? `not again: ${found}`;
  let length = Math.ceil(kept.length / 2);
  while (length >= 1) {
    const before = kept.length;
    for (let start = 0; start < kept.length; ) {
      const fewer = kept.toSpliced(start, length);
      const shorter = await problemOf(fewer);
      if (shorter === undefined) start += length;
      else [kept, problem] = [fewer, shorter];
    }
    if (length > 1) length = Math.ceil(length / 2);
    else if (kept.length === before) break;
  }
  const calls = kept.map((operation) => `  ${JSON.stringify(operation)}`).join("\n");
  return `seed ${seed}: ${problem}\n${calls}`;
}

/** Every fourth seed sets the clock back. */
export const createInboxPart = (open: () => Promise<ComparedInboxes>): DifferentialPart => ({
  name: "inbox",
  what: "sequences of calls of an inbox",
  goal: 10_000,
  async runOne(seed, counts) {
    const compared = await open();
    const operations = generateOperations(seed, seed % 4 === 0);
    const problem = await compareOperations(compared, operations, seed, counts).catch(String);
    return problem === undefined ? undefined : shrink(compared, operations, seed, problem);
  },
});
