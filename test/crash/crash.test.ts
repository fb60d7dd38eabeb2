import { describe, expect, it } from "vitest";
import { sharedPostgres } from "../support/shared-server.ts";
import { itWithPostgres } from "../support/with-postgres.ts";
import { type CrashReport, isFlawless, runCrashRounds } from "./run-crash-rounds.ts";

const timeoutMs = 300_000;

const expectFlawless = (report: CrashReport) => {
  expect(report, report.examples.join("\n")).toMatchObject({ lost: 0, twice: 0, wrong: 0 });
  expect(isFlawless(report)).toBe(true);
  expect(report.acknowledged).toBeGreaterThan(report.roundsDone * 50);
};

describe("receivers that are killed with SIGKILL at random instants", () => {
  it(
    "lose nothing, apply nothing twice and leave no wrong state on one SQLite file",
    async () => {
      const report = await runCrashRounds({ store: "sqlite", processes: 2, rounds: 2, seed: 1 });
      expectFlawless(report);
      expect(report.kills).toBe(4);
    },
    timeoutMs,
  );

  itWithPostgres(
    "lose nothing, apply nothing twice and leave no wrong state on PostgreSQL",
    async () => {
      const postgres = await sharedPostgres();
      expectFlawless(await runCrashRounds({ store: "postgres", processes: 2, rounds: 2, seed: 1, postgres }));
    },
    timeoutMs,
  );

  it.each([
    ["acknowledge-first", "lost"],
    ["no-uniqueness", "twice"],
    ["no-order", "wrong"],
  ] as const)(
    "are found by the count when they have the bug %s: it is counted as %s",
    async (broken, counted) => {
      const report = await runCrashRounds({ store: "sqlite", processes: 1, rounds: 1, seed: 1, broken });
      expect(report[counted]).toBeGreaterThan(0);
      expect(isFlawless(report)).toBe(false);
    },
    timeoutMs,
  );
});
