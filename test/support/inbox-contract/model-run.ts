// Random operations of several workers on an inbox with one source, each compared with the naive model. Each operation has
// a seed for its own choices, so that a sequence still means something when some of its operations are left out.

import { expect } from "vitest";
import type { FailedAttempt, InboxClaim, InboxKeyOrder } from "../../../receiver-kit/inbox/inbox.ts";
import { createRandom, type Random } from "../../integration/simulation/random.ts";
import { claimOptions, doneWith, positionAt, rowAt, source, transactionLimits } from "./contract-rows.ts";
import type { InboxFixture } from "./inbox-fixture.ts";
import { InboxModel } from "./inbox-model.ts";
import { purgeModel } from "./model-retention.ts";

const retry = { firstDelayMs: 2_000, delayMsMax: 2_000 };
const retention = { bodiesMs: 4_000, rowsMs: 8_000, headsMs: 6_000, unhandledBodiesMs: 6_000 };
const leaseMs = 1_000;

const weights = {
  insert: 6,
  claim: 5,
  end: 8,
  advance: 5,
  renew: 2,
  replay: 1,
  discard: 1,
  advanceHead: 1,
  purge: 1,
};
export type Operation = keyof typeof weights;

/** Each as often as it occurs. */
export const operations = (Object.keys(weights) as Operation[]).flatMap((name) =>
  Array.from({ length: weights[name] }, () => name),
);

export interface Step {
  readonly operation: Operation;
  readonly seed: number;
}

export class ModelRun {
  readonly #fixture: InboxFixture;
  readonly #keyOrder: InboxKeyOrder;
  readonly #model = new InboxModel();
  #random: Random = createRandom(0);
  #claims: readonly InboxClaim[] = [];
  #inserted = 0;
  #calls = 0;

  constructor(fixture: InboxFixture, keyOrder: InboxKeyOrder) {
    this.#fixture = fixture;
    this.#keyOrder = keyOrder;
  }

  async step({ operation, seed }: Step): Promise<void> {
    this.#random = createRandom(seed, operation);
    await this[operation]();
    await this.#compare();
  }

  /** Whatever happened before, every row ends when workers claim until nothing waits. */
  async drain(): Promise<void> {
    for (let turn = 0; (await this.#inbox.backlog(source, 1)) > 0; turn++) {
      expect(turn, "turns until every row has ended").toBeLessThan(50);
      await this.#advance(retry.delayMsMax);
      for (const claim of await this.#claim({ rowsMax: 1_000, rowsPerKeyMax: 3 })) await this.#settle(claim);
      await this.#compare();
    }
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

  /** An event of one of four tasks, or one without a key. */
  #anyRow(id: string) {
    const random = this.#random;
    const second = random.integer(1, 30);
    const hasKey = random.happens(0.85);
    const position = hasKey ? positionAt(second, "RUNNING", random.happens(0.2) ? "same" : id) : null;
    const fields = { id, position, ...(hasKey ? {} : { orderKey: null }) };
    return rowAt(`task-${random.integer(1, 4)}`, second, fields);
  }

  async insert(): Promise<void> {
    const random = this.#random;
    const isRepeated = random.happens(0.15);
    if (!isRepeated) this.#inserted += 1;
    const id = isRepeated ? this.#anyId() : `msg_${this.#inserted}`;
    const quarantine = random.happens(0.05) ? "odd" : null;
    const row = { ...this.#anyRow(id), body: Buffer.from(random.pick(["a", "a", "b"])), quarantine };
    expect(await this.#inbox.insert(row)).toEqual(this.#model.insert(row, this.#now));
  }

  async claim(): Promise<void> {
    // Not every expired lease is found by a claim that finds enough rows before.
    const some = this.#random.integer(1, 6);
    const rowsMax = this.#model.hasExpired(this.#now) ? 100 : some;
    const claims = await this.#claim({ rowsMax, rowsPerKeyMax: this.#random.integer(1, 3) });
    this.#claims = [...this.#claims, ...claims];
  }

  async #claim(limits: { readonly rowsMax: number; readonly rowsPerKeyMax: number }) {
    this.#calls += 1;
    const worker = `worker-${this.#calls}`;
    const options = claimOptions({ worker, keyOrder: this.#keyOrder, retry, leaseMs, ...limits });
    const result = await this.#inbox.claim(options);
    this.#model.claimed(options, result, this.#now);
    return result.claims;
  }

  async end(): Promise<void> {
    const claim = this.#random.sample(this.#claims);
    if (!claim) return;
    if (this.#random.happens(0.6)) await this.#settle(claim, this.#random.happens(0.3));
    else await this.#fail(claim);
    // Sometimes it ends twice. What a second end of a row that waits again does is not defined.
    const waitsAgain = this.#model.holds(claim) && this.#model.rows.get(claim.id)?.state === "pending";
    if (this.#random.happens(0.9) || waitsAgain)
      this.#claims = this.#claims.filter((other) => other !== claim);
  }

  async #settle(claim: InboxClaim, allowSame = false): Promise<void> {
    const settlement = doneWith(claim, { allowSame });
    const outcome = await this.#inbox.begin([{ claim, settlement }], transactionLimits).commit();
    expect(outcome).toBe(this.#model.settle(claim, allowSame));
  }

  async #fail(claim: InboxClaim): Promise<void> {
    const failure = this.#random.pick<FailedAttempt>([
      { kind: "release" },
      {
        kind: "retry",
        delayMs: this.#random.integer(1, 1_500),
        error: "no",
        counts: this.#random.happens(0.8),
      },
      { kind: "dead", error: "no" },
    ]);
    const isEnded = await this.#inbox.fail(claim, failure);
    expect(isEnded, failure.kind).toBe(this.#model.fail(claim, failure, this.#now));
  }

  advance(): Promise<void> {
    return this.#advance(this.#random.integer(1, 700));
  }

  async #advance(ms: number): Promise<void> {
    this.#model.elapsedMs += ms;
    await this.#fixture.clock.advance(ms);
  }

  async renew(): Promise<void> {
    const some = this.#claims.filter(() => this.#random.happens(0.5));
    const renewed = await this.#inbox.renew([...new Set(some.map(({ lease }) => lease))], leaseMs);
    const held = some.filter((claim) => this.#model.holds(claim));
    expect(renewed).toEqual(new Set(held.map(({ lease }) => lease)));
    for (const claim of held) this.#model.renewed(claim, this.#now + leaseMs);
  }

  async replay(): Promise<void> {
    const id = this.#anyId();
    const columns = this.#anyRow(id);
    const isReplayed = await this.#inbox.replay({ source, id }, columns);
    expect(isReplayed).toBe(this.#model.replay(columns, this.#now));
    if (isReplayed) this.#claims = this.#claims.filter((claim) => claim.id !== id);
  }

  async discard(): Promise<void> {
    const id = this.#anyId();
    expect(await this.#inbox.discard({ source, id })).toBe(this.#model.discard(id));
  }

  async advanceHead(): Promise<void> {
    const key = `["task-${this.#random.integer(1, 4)}"]`;
    const position = positionAt(this.#random.integer(1, 30), "RUNNING", "same");
    const verdict = await this.#inbox.advanceHead({ source, key, position });
    expect(verdict).toBe(this.#model.advanceHead(key, position));
  }

  async purge(): Promise<void> {
    for (let changed = 1; changed > 0; )
      changed = await this.#inbox.purge(retention, this.#random.integer(1, 5));
    const rows = await this.#inbox.list({ limit: 10_000 });
    const heads = await this.#heads();
    purgeModel(this.#model, retention, {
      rows: new Set(rows.map(({ id }) => id)),
      bodies: new Set(rows.filter(({ bodyBytes }) => bodyBytes !== null).map(({ id }) => id)),
      heads: new Set(heads.map(([key]) => key)),
    });
  }

  /** The inbox has the rows and heads of the model, and counts them right. */
  async #compare(): Promise<void> {
    expect((await this.#fixture.contradictions?.(this.#keyOrder)) ?? []).toEqual([]);
    const rows = await this.#inbox.list({ limit: 10_000 });
    expect(rows.map((row) => this.#model.visible(row)).toReversed()).toEqual(this.#model.visibleRows());
    const count = (...states: readonly string[]) => rows.filter(({ state }) => states.includes(state)).length;
    const waiting = count("pending", "running");
    const counted = { waiting, dead: count("dead"), quarantined: count("quarantined") };
    expect((await this.#inbox.stats()).rows).toEqual(counted);
    expect(count("running")).toBe(this.#model.openCount());
    expect(await this.#inbox.backlog(source, 1_000)).toBe(waiting);
    const expected = [...this.#model.heads].map(([key, { position }]) => [key, position]).toSorted();
    expect(await this.#heads()).toEqual(expected);
  }

  /** Key and position of each head, in the order of the keys. */
  async #heads(): Promise<readonly (readonly [key: string, position: string])[]> {
    const keys = [1, 2, 3, 4].map((task) => `["task-${task}"]`);
    const heads = await Promise.all(keys.map((key) => this.#inbox.head(source, key)));
    return keys.flatMap((key, index) => (heads[index] ? [[key, heads[index].position] as const] : []));
  }
}
