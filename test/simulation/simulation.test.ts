import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { isFullDepth } from "../support/depth.ts";
import { formatFailure, repeatCommand } from "./failure-report.ts";
import { mutants, productsOf } from "./mutants.ts";
import { runSeeds } from "./run-seeds.ts";
import { runSimulation } from "./simulation.ts";

describe("runSimulation", () => {
  it("produces the same trace for the same seed, and different traces for different seeds", async () => {
    const seeds = [3, 14, 62];
    const hashes = async () => {
      const traces: string[] = [];
      for (const seed of seeds) traces.push((await runSimulation({ seed })).traceHash);
      return traces;
    };
    const first = await hashes();
    expect(await hashes()).toEqual(first);
    expect(new Set(first).size).toBe(seeds.length);
  });

  if (isFullDepth) {
    it("violates no invariant for a random seed", async () => {
      const seed = randomInt(1_000_000, 2 ** 32);
      console.log(`random seed: ${seed}; repeat: ${repeatCommand(seed)}`);
      const report = await runSimulation({ seed });
      if (report.violation) expect.fail(formatFailure(report));
      expect(report.counts.rows).toBeGreaterThan(0);
    });
  }

  it("repeats a failed run up to the same step, with the same trace", async () => {
    const mutant = mutants.find(({ name }) => name === "acknowledge-before-commit");
    using broken = await productsOf(mutant!);
    const { failed } = await runSeeds({ from: 1, count: 50, products: broken.products });
    const seed = failed?.seed ?? 0;
    expect(await runSimulation({ seed, products: broken.products })).toEqual(failed);
    expect((await runSimulation({ seed })).violation).toBeUndefined();
  });
});

describe("npm run simulate", () => {
  const simulate = async (...args: readonly string[]) => {
    const conditions = ["--conditions=workspace-tasks-source", "--import", "tsx"];
    const file = join(import.meta.dirname, "simulate.ts");
    const cwd = join(import.meta.dirname, "../..");
    const ended = promisify(execFile)(process.execPath, [...conditions, file, ...args], { cwd });
    const output = await ended.catch((error: { code: number; stdout: string; stderr: string }) => error);
    return { code: "code" in output ? output.code : 0, stdout: output.stdout, stderr: output.stderr };
  };

  it("prints the violation, the settings with every probability, the trace, and a command that repeats the run", async () => {
    const { code, stdout } = await simulate("--seeds", "50", "--mutant", "acknowledge-before-commit");
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^seed \d+, step \d+: violation of I1 \(an acknowledged delivery is durable\)\n {2}/,
    );
    expect(stdout).toMatch(/^ {2}latencyMs: \d+$/m);
    expect(stdout).toMatch(/^fault probabilities:\n( {2}\w+: 0\.\d{4}\n)+ {2}0 for \w+/m);
    expect(stdout).toMatch(/^ {2}\d+\.\d{3} s: VIOLATION of I1: delivery-\d+ was/m);
    const command = /^repeat: npm run simulate -- (.+)$/m.exec(stdout)?.[1] ?? "";
    expect(await simulate(...command.split(" "))).toMatchObject({ code: 1, stdout });
  });

  it("prints a line of progress per run and a summary where there is no terminal", async () => {
    const { code, stdout, stderr } = await simulate("--from", "40", "--seeds", "3");
    expect({ code, lines: stderr.trim().split("\n").length }).toEqual({ code: 0, lines: 2 });
    expect(stdout).toMatch(/^3 seeds, \d+ deliveries, \d+ crashes and pauses; no invariant was violated\n$/);
  });

  it.each(["--seed one", "--mutant unknown", "--speed"])("rejects %s with the usage", async (words) => {
    const { code, stderr } = await simulate(...words.split(" "));
    expect(code).toBe(2);
    expect(stderr).toContain("usage: npm run simulate");
  });
});
