// Events whose turns are together, and what each of them may do: every pair and many groups of three.

import { isReceiverError } from "@workspace-tasks/receiver-kit";
import type { PostgresTransaction } from "@workspace-tasks/receiver-kit/postgres";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { InboxClaim } from "../../../../../../receiver-kit/inbox/inbox.ts";
import { postgresInbox } from "../../../../../support/inbox-stores.ts";
import type { PostgresDatabase } from "../../../../../support/postgres.ts";
import { sharedPostgres } from "../../../../../support/shared-server.ts";
import { createSharedTransactionFixture } from "../../../../../support/shared-transaction-fixture.ts";
import { describeWithPostgres } from "../../../../../support/with-postgres.ts";

let database: PostgresDatabase;

beforeAll(async () => {
  database = await (await sharedPostgres()).database();
});
afterAll(() => database[Symbol.asyncDispose]());

interface Run {
  readonly claim: InboxClaim;
  readonly handle: PostgresTransaction;
  /** The process of the server. */
  write(): Promise<unknown>;
  readonly isFirst: boolean;
  readonly schema: string;
  administer(statement: string, values?: unknown[]): Promise<unknown>;
}

const options = { turnMs: 100, resetSessions: true };

const endOf = (error: unknown) => (isReceiverError(error, "LEASE_LOST") ? "lost" : "failed");

const broken = "SELECT 1 / 0";

/** What handlers do, and the end of their events. */
const behaviours: Record<string, [end: "settled" | "failed" | "lost", run: (run: Run) => Promise<unknown>]> =
  {
    commits: ["settled", ({ write }) => write()],
    "throws before its result": [
      "failed",
      async ({ write }) => {
        write().catch(() => {});
        throw new Error("failed");
      },
    ],
    "throws after its result": [
      "failed",
      async ({ write }) => {
        await write();
        throw new Error("failed");
      },
    ],
    "has a failing statement": [
      "failed",
      ({ handle, schema }) => handle.query(`INSERT INTO ${schema}.done SELECT 'a', 1 / 0`),
    ],
    "catches the error of a statement": [
      "failed",
      async ({ write, handle }) => {
        await write();
        await handle.query(broken).catch(() => {});
      },
    ],
    "sends a second statement": [
      "settled",
      async ({ write, handle }) => {
        await write();
        await handle.query("SELECT 1");
      },
    ],
    "sends one that is not plain": [
      "settled",
      async ({ write, handle }) => {
        await write();
        await handle.query("SELECT set_config('app.tenant', 'a', true)");
      },
    ],
    "takes longer than its turn": [
      "settled",
      async ({ write, administer, isFirst }) => {
        await write();
        if (isFirst) await administer("SELECT pg_sleep(0.15)");
      },
    ],
    "loses its connection": [
      "settled",
      async ({ write, administer, isFirst }) => {
        const pid = await write();
        if (isFirst) await administer("SELECT pg_terminate_backend($1)", [pid]);
      },
    ],
    "loses its lease": [
      "lost",
      async ({ write, administer, claim, schema }) => {
        await write();
        await administer(`UPDATE ${schema}.ordering_keys SET generation = generation + 1 WHERE id = $1`, [
          claim.lease.keyId,
        ]);
      },
    ],
  };
const names = Object.keys(behaviours);
const pairs = names.flatMap((a, index) => names.slice(index).map((b) => [b, a]));
const triples = names.flatMap((a, index) => [
  [a, "commits", names[(index + 3) % names.length]!],
  ["commits", a, a],
]);
const groups = [...pairs, ...triples];

async function createFixture() {
  const tasks = groups.flatMap((group, index) =>
    ["first", ...group].map((_, place) => `task-${index}-${place}`),
  );
  const at = await createSharedTransactionFixture(database, tasks, {
    turnMs: 100,
    resetSessions: true,
  });
  await at.pool.query(`CREATE TABLE ${at.schema}.done (name text, pid integer DEFAULT pg_backend_pid())`);
  const insert = `INSERT INTO ${at.schema}.done VALUES ($1) RETURNING pid`;
  const errors: unknown[] = [];
  let inTurn = 0;
  const handle = async (
    inbox: typeof at.inbox,
    claim: InboxClaim,
    run: (run: Run) => Promise<unknown>,
    before: "" | "repeat" | "repeat_in_turn" = "",
  ): Promise<string> => {
    const sharing = { isInTurn: before === "repeat_in_turn", isAlone: before === "repeat" };
    const settlement = { state: "done", advance: null } as const;
    const {
      handle: own,
      commit,
      rollback,
    } = inbox.begin(claim, settlement, { timeoutMs: 20_000, ...sharing });
    const write = async () => (await own.query(insert, [claim.id]))[0]?.["pid"];
    const given = { claim, handle: own, write, isFirst: before === "", schema: at.schema };
    const administer: Run["administer"] = (...statement) => at.pool.query(...statement);
    const end = await run({ ...given, administer }).then(
      () => commit().catch(() => "failed" as const),
      (error) => {
        errors.push(error);
        return rollback().then((repeats) => repeats ?? endOf(error));
      },
    );
    if (end === "repeat_in_turn") inTurn += 1;
    return end === "repeat" || end === "repeat_in_turn" ? handle(inbox, claim, run, end) : end;
  };
  return {
    ...at,
    ...{ handle, errors },
    /** How many events were undone because of others. */
    undone: () => inTurn,
    /** One whose groups have not failed yet. */
    async open() {
      const inbox = postgresInbox(at.pool, { schema: at.schema, migrate: false, ...options });
      await inbox.open();
      return inbox;
    },
  };
}

describeWithPostgres("a group of events on PostgreSQL", () => {
  it("keeps the effects of each event once, or none, whatever the handlers of the others do", async () => {
    await using at = await createFixture();
    const rest = [...at.claims];
    const kept: string[] = [];
    const run = async (group: readonly string[], [first, ...claims]: readonly InboxClaim[]) => {
      const inbox = await at.open();
      expect(await at.handle(inbox, first!, behaviours["commits"]![1])).toBe("settled");
      const ends = await Promise.all(
        claims.map((claim, place) => at.handle(inbox, claim, behaviours[group[place]!]![1])),
      );
      expect([group, ends]).toEqual([group, group.map((name) => behaviours[name]![0])]);
      await inbox.close();
      kept.push(first!.id, ...claims.filter((_, place) => ends[place] === "settled").map(({ id }) => id));
    };
    const left = groups.map((group) => [group, rest.splice(0, 1 + group.length)] as const);
    // Some at a time: they mostly wait.
    const runLeft = async () => {
      for (let next = left.shift(); next; next = left.shift()) await run(...next);
    };
    await Promise.all(Array.from({ length: 4 }, runLeft));
    expect(at.undone()).toBeGreaterThan(10);
    const codes = new Set(
      at.errors.map((error) => (error as { readonly code?: string }).code ?? "of the handler"),
    );
    // Of a statement that was on its way when its connection was ended, which it rarely is.
    codes.delete("57P01");
    expect(codes).toEqual(new Set(["22012", "LEASE_LOST", "TRANSACTION_ENDED", "of the handler"]));
    const { rows } = await at.pool.query(`SELECT name FROM ${at.schema}.done ORDER BY name`);
    expect(rows.map(({ name }) => name)).toEqual(kept.toSorted());
  });
});
