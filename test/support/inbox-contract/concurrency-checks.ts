// Workers and operators of several processes on the same few keys. Their order is the machine's, so only what holds in every
// order is checked: each event takes effect once, events of a key do not overlap, nothing is left, and the counters are right.

import { expect } from "vitest";
import type { InboxClaim, InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { createRandom } from "../../integration/simulation/random.ts";
import { begin, claimOptions, rowAt, source } from "./contract-rows.ts";
import type { Checks, InboxFixture } from "./inbox-fixture.ts";

const rowsCount = 60;
const rowsWithoutKey = 12;
const keysCount = 6;
const workers = 6;
const pollsMax = 2_000;

class Workers {
  readonly #fixture: InboxFixture;
  readonly #random = createRandom(1);
  readonly held = new Map<string, string>();
  readonly faults: string[] = [];
  #left = rowsCount + rowsWithoutKey;

  constructor(fixture: InboxFixture) {
    this.#fixture = fixture;
  }

  /** Lets time pass until the work is done: what waits for a lock may wait by the clock. */
  async passTimeDuring(work: Promise<unknown>): Promise<void> {
    let isDone = false;
    const finished = work.finally(() => {
      isDone = true;
    });
    finished.catch(() => {});
    while (!isDone) {
      await this.#fixture.clock.advance(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await finished;
  }

  /** Polls until every row has ended. */
  async run(inbox: InboxStore, worker: string): Promise<void> {
    for (let poll = 0; this.#left > 0 && this.faults.length === 0; poll++) {
      expect(poll < pollsMax, `${this.#left} rows have not ended after ${pollsMax} polls of ${worker}`).toBe(
        true,
      );
      const { claims } = await inbox.claim(
        claimOptions({ worker: `${worker}.${poll}`, rowsMax: 6, rowsPerKeyMax: 3, leaseMs: 3_600_000 }),
      );
      for (const lease of new Set(claims.map((claim) => claim.lease)))
        await this.#endAll(
          inbox,
          claims.filter((claim) => claim.lease === lease),
        );
    }
  }

  /** Replays what is dead and purges, until every row has ended. */
  async operate([inbox, other]: readonly [InboxStore, InboxStore]): Promise<void> {
    const retention = { bodiesMs: 3_600_000, rowsMs: 3_600_000, headsMs: 1, unhandledBodiesMs: 3_600_000 };
    for (let turn = 0; turn < pollsMax && this.#left > 0 && this.faults.length === 0; turn++) {
      for (const row of await inbox.list({ states: ["dead"], limit: 5 })) await inbox.replay(row, row);
      await other.purge(retention, 3);
    }
  }

  async #endAll(inbox: InboxStore, claims: readonly InboxClaim[]): Promise<void> {
    const key = claims[0]?.orderKey ?? claims[0]?.id ?? "";
    const worker = claims[0]?.lease.worker ?? "";
    const holder = this.held.get(key);
    if (holder !== undefined) this.faults.push(`${key} was claimed by ${worker} while ${holder} held it`);
    this.held.set(key, worker);
    // After a failure the newer events of the key wait for the older ones again.
    let isReleased = this.#random.happens(0.2);
    for (const [index, claim] of claims.entries()) {
      if (index === claims.length - 1) this.held.delete(key);
      isReleased ||= this.#random.happens(0.1);
      if (claim.orderKey === null && this.#random.happens(0.4))
        await inbox.fail(claim, { kind: "dead", error: "no" });
      else if (!isReleased) await this.#end(inbox, claim);
      else if (!(await inbox.fail(claim, { kind: "release" })))
        this.faults.push(`${claim.id} was not released`);
    }
  }

  async #end(inbox: InboxStore, claim: InboxClaim): Promise<void> {
    const outcome = await this.#tryToEnd(inbox, claim);
    if (outcome === "settled") this.#left -= 1;
    else this.faults.push(`${claim.id} ended as ${outcome}`);
  }

  async #tryToEnd(inbox: InboxStore, claim: InboxClaim): Promise<string> {
    const transaction = begin(inbox, claim);
    try {
      await this.#fixture.effects.write(transaction.handle, claim.id);
      return await transaction.commit();
    } catch (error) {
      await transaction.rollback();
      return String(error);
    }
  }
}

export const concurrencyChecks: Checks = {
  async "apply each event once, in the order of its key, with deliveries arriving meanwhile and an operator at work"(
    fixture,
  ) {
    const { inbox, effects, reopen } = fixture;
    const other = await reopen();
    const both = [inbox, other] as const;
    const withKey = Array.from({ length: rowsCount }, (_, n) =>
      rowAt(`task-${n % keysCount}`, n, { id: `msg_${String(n).padStart(3, "0")}` }),
    );
    const withoutKey = Array.from({ length: rowsWithoutKey }, (_, n) =>
      rowAt("none", n, { id: `free_${n}`, orderKey: null, position: null }),
    );
    const rows = [...withKey, ...withoutKey];
    const team = new Workers(fixture);
    const store = async () => {
      for (const [n, row] of rows.entries())
        await Promise.all([0, 1].map((copy) => both[(n + copy) % 2 ? 1 : 0].insert(row)));
    };
    const handle = Array.from({ length: workers }, (_, n) => team.run(both[n % 2 ? 1 : 0], `worker-${n}`));
    await team.passTimeDuring(Promise.all([store(), team.operate(both), ...handle]));
    expect(team.faults).toEqual([]);
    const kept = await effects.kept();
    expect(kept.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
    for (let key = 0; key < keysCount; key++) {
      const ofKey = kept.filter((id) => id.startsWith("msg_") && Number(id.slice(4)) % keysCount === key);
      expect(ofKey).toEqual(ofKey.toSorted());
    }
    expect(await inbox.backlog(source, 100)).toBe(0);
  },
};
