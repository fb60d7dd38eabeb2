// Random operations of several workers on an inbox with one source, each compared with the naive model.

import type { FailedAttempt, InboxClaim, InboxKeyOrder } from "../inbox/inbox.ts";
import { holds, same } from "./assertions.ts";
import type { InboxFixture } from "./inbox-fixture.ts";
import { InboxModel } from "./inbox-model.ts";
import { claimOptions, doneWith, positionAt, rowAt, settle, source } from "./inbox-rows.ts";
import { type SeededRandom, seededRandom } from "./seeded-random.ts";

const retry = { firstDelayMs: 2_000, delayMsMax: 2_000 };
const retention = { bodiesMs: 4_000, rowsMs: 8_000, headsMs: 6_000, unhandledBodiesMs: 6_000 };
const leaseMs = 1_000;

const weights = {
  ...{ insert: 6, claim: 5, end: 8, advance: 5, renew: 2 },
  ...{ replay: 1, discard: 1, resetHead: 1, advanceHead: 1, repairTimes: 1, purge: 1 },
};
type Operation = keyof typeof weights;
const weighted = (Object.keys(weights) as Operation[]).flatMap((name) =>
  Array.from({ length: weights[name] }, () => name),
);

export class ModelRun {
  readonly #fixture: InboxFixture;
  readonly #random: SeededRandom;
  readonly #keyOrder: InboxKeyOrder;
  readonly #model = new InboxModel();
  #claims: readonly InboxClaim[] = [];
  #inserted = 0;
  #calls = 0;

  constructor(fixture: InboxFixture, seed: number, keyOrder: InboxKeyOrder) {
    this.#fixture = fixture;
    this.#random = seededRandom(seed);
    this.#keyOrder = keyOrder;
  }

  next(): Operation {
    return this.#random.sample(weighted) ?? "insert";
  }

  get #now(): number {
    return this.#fixture.clock.now();
  }

  get #inbox() {
    return this.#fixture.inbox;
  }

  #anyId(): string {
    return this.#random.sample([...this.#model.rows.keys()]) ?? "none";
  }

  async insert(): Promise<void> {
    const random = this.#random;
    const isRepeated = random.happens(0.1);
    if (!isRepeated) this.#inserted += 1;
    const id = isRepeated ? this.#anyId() : `msg_${this.#inserted}`;
    const second = random.integer(1, 30);
    const hasKey = random.happens(0.85);
    const quarantine = random.happens(0.05) ? "odd" : null;
    const position = hasKey ? positionAt(second, "RUNNING", random.happens(0.2) ? "same" : id) : null;
    const fields = { id, position, quarantine, ...(hasKey ? {} : { orderKey: null }) };
    const row = rowAt(`task-${random.integer(1, 4)}`, second, fields);
    const { outcome } = await this.#inbox.insert(row);
    same(outcome, this.#model.insert(row, this.#now), "outcome");
  }

  async claim(): Promise<void> {
    const random = this.#random;
    this.#calls += 1;
    // Not every expired lease is found by a claim that finds enough rows before.
    const some = random.integer(1, 6);
    const rowsMax = this.#model.hasExpired(this.#now) ? 100 : some;
    const options = claimOptions({
      ...{ worker: `worker-${this.#calls}`, keyOrder: this.#keyOrder, retry, leaseMs, attemptsMax: 3 },
      ...{ rowsMax, rowsPerKeyMax: random.integer(1, 3) },
    });
    const result = await this.#inbox.claim(options);
    this.#model.claimed(options, result, this.#now);
    this.#claims = [...this.#claims, ...result.claims];
  }

  async end(): Promise<void> {
    const claim = this.#random.sample(this.#claims);
    if (!claim) return;
    await this.#endOne(claim);
    // Sometimes it ends twice. What a second end of a row that waits again does is not defined.
    const waitsAgain = this.#model.holds(claim) && this.#model.rows.get(claim.id)?.state === "pending";
    if (this.#random.happens(0.9) || waitsAgain)
      this.#claims = this.#claims.filter((other) => other !== claim);
  }

  async #endOne(claim: InboxClaim): Promise<void> {
    const random = this.#random;
    if (random.happens(0.6)) {
      const outcome = await settle(this.#inbox, claim, doneWith(claim));
      return same(outcome, this.#model.settle(claim, this.#now), "end");
    }
    const delayMs = random.integer(1, 1_500);
    const failure = random.sample<FailedAttempt>([
      { kind: "release" },
      { kind: "retry", delayMs, error: "no" },
      { kind: "dead", error: "no" },
    ]) ?? { kind: "release" };
    const isEnded = await this.#inbox.fail(claim, failure);
    same(isEnded, this.#model.fail(claim, failure, this.#now), failure.kind);
  }

  async advance(): Promise<void> {
    await this.#fixture.clock.advance(this.#random.integer(1, 700));
  }

  async renew(): Promise<void> {
    const some = this.#claims.filter(() => this.#random.happens(0.5));
    const held = some.filter((claim) => this.#model.holds(claim));
    const leases = new Set(some.map(({ lease }) => lease));
    const renewed = await this.#inbox.renew([...leases], leaseMs);
    const expected = new Set(held.map(({ lease }) => lease));
    const isEqual = renewed.size === expected.size && [...expected].every((lease) => renewed.has(lease));
    holds(isEqual, `renewed leases: expected ${expected.size}, got ${renewed.size}, or other objects`);
    for (const claim of held) this.#model.renewed(claim, this.#now + leaseMs);
  }

  async replay(): Promise<void> {
    const row = await this.#inbox.get({ source, id: this.#anyId() });
    if (!row?.body) return;
    this.#claims = this.#claims.filter(({ id }) => id !== row.id);
    same(await this.#inbox.replay(row, row), this.#model.replay(row.id, this.#now), "replay");
  }

  async discard(): Promise<void> {
    const row = this.#model.rows.get(this.#anyId());
    const isUnhandled = row?.state === "dead" || row?.state === "quarantined";
    same(await this.#inbox.discard({ source, id: row?.id ?? "none" }), isUnhandled, "discard");
    if (row && isUnhandled) row.state = "discarded";
  }

  async resetHead(): Promise<void> {
    const key = this.#random.sample([...this.#model.heads.keys()]) ?? "none";
    same(await this.#inbox.resetHead({ source, key }), this.#model.heads.delete(key), "reset");
  }

  async advanceHead(): Promise<void> {
    const key = `["task-${this.#random.integer(1, 4)}"]`;
    const position = positionAt(this.#random.integer(1, 30), "RUNNING", "same");
    const head = this.#model.heads.get(key)?.position ?? "";
    const expected = position > head ? "newer" : position === head ? "same" : "stale";
    same(await this.#inbox.advanceHead({ source, key, position }), expected, "verdict");
    if (expected === "newer") this.#model.heads.set(key, { position, movedAtMs: this.#now });
  }

  async repairTimes(): Promise<void> {
    same(await this.#inbox.repairTimes({ source, keyOrder: this.#keyOrder }), 0, "repaired keys");
  }

  async purge(): Promise<void> {
    const { rows, heads } = this.#model;
    for (let changed = 1; changed > 0; )
      changed = await this.#inbox.purge(retention, this.#random.integer(1, 5));
    const kept = new Set((await this.#inbox.list({ limit: 10_000 })).map(({ id }) => id));
    for (const { id, state, bornAtMs } of rows.values()) {
      if (kept.has(id)) continue;
      const mayGo =
        ["done", "stale", "discarded"].includes(state) && this.#now - bornAtMs >= retention.rowsMs;
      holds(mayGo, `${id} was purged: ${state}, ${this.#now - bornAtMs} ms old`);
      rows.delete(id);
    }
    for (const [key, { movedAtMs }] of heads) {
      if (await this.#inbox.head(source, key)) continue;
      const mayGo = this.#now - movedAtMs >= retention.headsMs && this.#model.waiting(key).length === 0;
      holds(mayGo, `the head of ${key} was purged: unchanged for ${this.#now - movedAtMs} ms`);
      heads.delete(key);
    }
  }

  /** The inbox has the rows and heads of the model, and counts them right. */
  async compare(): Promise<void> {
    const found = await this.#fixture.contradictions?.(this.#keyOrder);
    same(found ?? [], [], "contradictions");
    const rows = await this.#inbox.list({ limit: 10_000 });
    const stateOf = (state: string) => (state === "running" ? "pending" : state);
    const actual = rows.map(({ id, state }) => [id, stateOf(state)] as const).toReversed();
    const expected = [...this.#model.rows.values()].map(({ id, state }) => [id, state]);
    same(actual, expected, "rows");
    const running = [...this.#model.rows.keys()].filter((id) => this.#model.isOpen(id)).length;
    const waiting = actual.filter(([, state]) => state === "pending").length;
    const { rows: counted } = await this.#inbox.stats();
    const { running: countedRunning, pending } = counted;
    same({ running: countedRunning, pending }, { running, pending: waiting - running }, "statistics");
    same(await this.#inbox.backlog(source, 1_000), waiting, "backlog");
    const heads = await this.#inbox.listHeads({ source, limit: 100 });
    const expectedHeads = [...this.#model.heads].map(([key, { position }]) => [key, position]).toSorted();
    same(
      heads.map(({ key, position }) => [key, position]),
      expectedHeads,
      "heads",
    );
  }
}
