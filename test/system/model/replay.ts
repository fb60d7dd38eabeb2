// Makes the calls of a run of the model on an inbox, under a clock that moves by ticks, and compares after each call its
// result and the whole state: rows, attempts, due times, effects, keys, leases, generations and heads.

import type { InboxClaim, InboxLease, InboxSettlement } from "../../../receiver-kit/inbox/inbox.ts";
import { FrozenClock } from "../../support/frozen-clock.ts";
import {
  claimOptions,
  doneWith,
  positionAt,
  rowAt,
  source,
  transactionLimits,
} from "../../support/inbox-contract/contract-rows.ts";
import { keyName, type OpenReplayed, type ReplayedInbox, rowId, tickMs } from "./replayed-inbox.ts";
import { type ModelBounds, parseState, type Transition } from "./transitions.ts";

const startMs = Date.UTC(2026, 5, 1);

interface HeldLease {
  readonly lease: InboxLease;
  /** Its rows that are not handled yet, by their numbers. */
  readonly claims: Map<number, InboxClaim>;
  /** Position of the newest event that this worker knows to be applied. */
  head: string | null;
}

/** @returns the first difference, with the run up to it; undefined when there is none */
export async function replay(
  open: OpenReplayed,
  run: readonly Transition[],
  bounds: ModelBounds,
): Promise<string | undefined> {
  const clock = new FrozenClock(startMs);
  const replayed = open(clock);
  const execution = new Execution(replayed, clock, bounds);
  for (const [index, transition] of run.entries()) {
    const { call, args, result, to } = transition;
    const found = { result: await execution.call(call, args), state: replayed.state(clock.ms, bounds) };
    const expected = { result, state: parseState(to, bounds) };
    const [actual, wanted] = [found, expected].map((value) => JSON.stringify(value));
    if (actual === wanted) continue;
    const calls = run.slice(0, index + 1).map((each) => `${each.call} ${each.args.join(" ")}`);
    return `${calls.join(", ")}\n  model: ${wanted}\n  inbox: ${actual}`;
  }
  return undefined;
}

class Execution {
  readonly #replayed: ReplayedInbox;
  readonly #clock: FrozenClock;
  readonly #bounds: ModelBounds;
  readonly #leases = new Map<number, HeldLease>();

  constructor(replayed: ReplayedInbox, clock: FrozenClock, bounds: ModelBounds) {
    this.#replayed = replayed;
    this.#clock = clock;
    this.#bounds = bounds;
  }

  async call(name: string, [first, second]: readonly [number, number]): Promise<string | number> {
    const { inbox } = this.#replayed;
    if (name === "insert") await inbox.insert(rowOf(first, this.#bounds));
    else if (name === "claim") return this.#claim(first, second);
    else if (name === "advance")
      await inbox.advanceHead({ source, key: keyName(first), position: positionAt(second) });
    else if (name === "tick") this.#clock.ms += tickMs;
    else if (name === "renew") return this.#renew(first);
    else if (name === "share") return this.#share(first);
    else return this.#end(name, this.#leases.get(first)!, second);
    return "absent";
  }

  async #claim(slot: number, rowsPerKeyMax: number): Promise<number> {
    const { ATTEMPTS, LEASE, RETRY, KEYS } = this.#bounds;
    const delayMs = RETRY * tickMs;
    const { claims } = await this.#replayed.inbox.claim(
      claimOptions({
        ...{ worker: `claim-${slot}`, rowsPerKeyMax, leaseMs: LEASE * tickMs, attemptsMax: ATTEMPTS },
        retry: { firstDelayMs: delayMs, delayMsMax: delayMs },
      }),
    );
    let bits = 0;
    for (const lease of new Set(claims.map((each) => each.lease))) {
      const own = claims.filter((each) => each.lease === lease);
      const rows = new Map(own.map((each) => [rowNumber(each.id), each]));
      const key = [...rows.keys()][0]! % KEYS;
      this.#leases.set((slot - 1) * KEYS + key, { lease, claims: rows, head: own[0]?.head ?? null });
      for (const row of rows.keys()) bits += 1 << row;
    }
    return bits;
  }

  async #renew(slot: number): Promise<string> {
    const { lease } = this.#leases.get(slot)!;
    const held = await this.#replayed.inbox.renew([lease], this.#bounds.LEASE * tickMs);
    return held.has(lease) ? "settled" : "lost";
  }

  /** The first rows of all keys of a claim at once. Returns the end of the last one. */
  async #share(slot: number): Promise<string> {
    const { KEYS } = this.#bounds;
    const ends = Array.from({ length: KEYS }, (_, key) => {
      const held = this.#leases.get(slot * KEYS + key)!;
      return this.#end("settle", held, Math.min(...held.claims.keys()));
    });
    return (await Promise.all(ends)).at(-1) ?? "";
  }

  async #end(name: string, held: HeldLease, row: number): Promise<string> {
    const { inbox } = this.#replayed;
    const claim = held.claims.get(row)!;
    held.claims.delete(row);
    if (name === "settle") return this.#settle(held, claim);
    const delayMs = this.#bounds.RETRY * tickMs;
    const failure = { kind: name as "retry" | "dead" | "release", delayMs, error: "no", counts: true };
    return (await inbox.fail(claim, failure)) ? "settled" : "lost";
  }

  /** As the worker does. */
  async #settle(held: HeldLease, claim: InboxClaim): Promise<string> {
    const isStale = held.head !== null && (claim.position ?? "") <= held.head;
    const settlement = isStale ? ({ state: "stale", advance: null } as const) : doneWith(claim);
    const outcome = await this.#tryToSettle(claim, settlement);
    if (outcome === "superseded") await this.#replayed.inbox.fail(claim, { kind: "release" });
    if (outcome === "settled" && !isStale) held.head = claim.position;
    return outcome;
  }

  async #tryToSettle(claim: InboxClaim, settlement: InboxSettlement): Promise<string> {
    const { inbox, effects } = this.#replayed;
    const transaction = inbox.begin([{ claim, settlement }], transactionLimits);
    try {
      await transaction.handle.apply(() => effects.push(claim.id));
      return await transaction.commit();
    } catch (error) {
      await transaction.rollback();
      // The bundle of the receiver kit has its own class of errors.
      const { code } = error as { code?: unknown };
      if (code === "LEASE_LOST") return "lost";
      if (code === "SUPERSEDED") return "superseded";
      throw error;
    }
  }
}

const rowNumber = (id: string) => Number(id.slice(4));

function rowOf(row: number, { KEYS }: ModelBounds) {
  return rowAt(`task-${row % KEYS}`, row + 1, { id: rowId(row), position: positionAt(row + 1) });
}
