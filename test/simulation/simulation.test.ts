import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { replayCommand, reportFailure } from "./failure-report.ts";
import { mutants, productsOf } from "./mutants.ts";
import type { Products } from "./scene.ts";
import { runSimulation, type SimulationReport } from "./simulation.ts";

const root = join(import.meta.dirname, "../..");

/** The first seed at which broken products are found out. */
async function firstFailure(products: Partial<Products>): Promise<SimulationReport> {
  for (let seed = 1; seed <= 50; seed++) {
    const report = await runSimulation({ seed, products });
    if (report.violation) return report;
  }
  throw new Error("expected a failure within 50 seeds, got none");
}

describe("a simulation", () => {
  test("is the same run for the same seed, and another for another", async () => {
    const seeds = [3, 14, 62];
    const hashes = async () => {
      const reports: SimulationReport[] = [];
      for (const seed of seeds) reports.push(await runSimulation({ seed }));
      return reports.map(({ traceHash }) => traceHash);
    };
    const first = await hashes();
    expect(await hashes()).toEqual(first);
    expect(new Set(first).size).toBe(seeds.length);
  });

  test("holds every invariant for a seed that nobody chose", async () => {
    const seed = randomInt(1_000_000, 2 ** 32);
    console.log(`random seed: ${seed}; again: ${replayCommand(seed)}`);
    const report = await runSimulation({ seed });
    if (report.violation) expect.fail(reportFailure(report));
    expect(report.counts.rows).toBeGreaterThan(0);
  });

  test("comes to the same failing step again, with the same trace", async () => {
    const planted = mutants.find(({ name }) => name === "acknowledge-before-commit");
    using broken = await productsOf(planted!);
    const failed = await firstFailure(broken.products);
    const again = await runSimulation({ seed: failed.seed, products: broken.products });
    expect(again).toEqual(failed);
    const intact = await runSimulation({ seed: failed.seed });
    expect(intact.violation).toBeUndefined();
  });
});

describe("npm run simulate", () => {
  const simulate = async (...args: readonly string[]) => {
    const conditions = ["--conditions=workspace-tasks-source", "--import", "tsx"];
    const file = join(import.meta.dirname, "simulate.ts");
    const run = promisify(execFile)(process.execPath, [...conditions, file, ...args], { cwd: root });
    return run.then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout,
        stderr,
      }),
    );
  };

  test("says what failed and the one command that brings it back", async () => {
    const { code, stdout } = await simulate("--seeds", "50", "--mutant", "acknowledge-before-commit");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^seed \d+, step \d+: I1, acknowledged means durable\n {2}delivery-\d+ was/);
    const command = /replay: npm run simulate -- (.+)$/m.exec(stdout)?.[1] ?? "";
    const again = await simulate(...command.split(" "));
    expect(again).toMatchObject({ code: 1, stdout });
  });

  test("counts its runs, line by line where there is no terminal", async () => {
    const { code, stdout, stderr } = await simulate("--from", "40", "--seeds", "3");
    expect({ code, lines: stderr.trim().split("\n").length }).toEqual({ code: 0, lines: 2 });
    expect(stdout).toMatch(/^3 seeds, \d+ deliveries, \d+ crashes and stalls; every invariant held\n$/);
  });

  test.each(["--seed one", "--mutant unheard-of", "--speed"])("refuses %s", async (words) => {
    const { code, stderr } = await simulate(...words.split(" "));
    expect(code).toBe(2);
    expect(stderr).toContain("usage: npm run simulate");
  });
});
