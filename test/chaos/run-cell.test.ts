// The count of the chaos matrix, on a receiver in this process that keeps its promises or breaks one of them.
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { listen } from "../support/listen.ts";
import { machineMicros } from "../support/machine-time.ts";
import type { ChaosCell, Effect } from "./chaos-cell.ts";
import { isFlawless, runCell } from "./run-cell.ts";

type Bug = "none" | "loses" | "repeats" | "overwrites newer states" | "hides staleness" | "rejects";

/** A receiver that stops for 200 ms and then accepts again. */
function cellOf(bug: Bug): ChaosCell {
  return {
    ...{ name: bug, brokenMs: 200, rejectsNothing: true },
    load: { tasks: 40, beforeMs: 300, afterMs: 300, gapMs: 30, drainTimeoutMs: 2_000 },
    async start() {
      const effects: Effect[] = [];
      const newest = new Map<string, { occurredAt: string; status: string }>();
      const seen = new Set<string>();
      const special = new Set<string>();
      let isDown = false;
      const server = await listen(
        createServer(async (request, response) => {
          const chunks: Buffer[] = [];
          for await (const chunk of request) chunks.push(chunk as Buffer);
          if (isDown) return void request.socket.destroy();
          const id = String(request.headers["webhook-id"]);
          const event = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, string>;
          const { taskId = "", status = "", occurredAt = "" } = event;
          const isKnown = seen.has(id);
          seen.add(id);
          if (!isKnown && seen.size % 20 === 0) special.add(id);
          if (bug === "rejects" && special.delete(id)) return void response.writeHead(503).end();
          const isLost = bug === "loses" && special.has(id);
          const isStale = occurredAt < (newest.get(taskId)?.occurredAt ?? "");
          if (!isLost && (!isKnown || bug === "repeats" || bug === "rejects"))
            effects.push({
              ...{ id, task: taskId, occurredAt, atMicros: machineMicros() },
              isStale: isStale && bug !== "hides staleness",
            });
          if (bug === "overwrites newer states" || !isStale) newest.set(taskId, { occurredAt, status });
          response.end();
        }),
      );
      return {
        ports: [server.port],
        effects: async () => effects,
        states: async () => new Map([...newest].map(([task, { status }]) => [task, status])),
        async inject() {
          isDown = true;
        },
        async repair() {
          isDown = false;
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  };
}

async function run(bug: Bug) {
  const cell = cellOf(bug);
  await using world = await cell.start();
  return await runCell(cell, world, 1);
}

describe.concurrent("a cell of the chaos matrix", () => {
  it("is flawless for a receiver that keeps its promises, and shows how long it paused", async () => {
    const report = await run("none");
    expect(report).toMatchObject({ lost: 0, twice: 0, wrong: 0, rejected: 0, examples: [] });
    expect(isFlawless(report, cellOf("none"))).toBe(true);
    expect(report.acceptPauseMs).toBeGreaterThan(150);
  });

  it("stops sending when the fault cannot be injected", async () => {
    const cell = cellOf("none");
    await using world = await cell.start();
    let sent = 0;
    const failing = {
      ...world,
      get ports() {
        sent += 1;
        return world.ports;
      },
      inject: async () => {
        throw new Error("no leader was found");
      },
    };
    await expect(runCell(cell, failing, 1)).rejects.toThrow("no leader was found");
    await pause(150);
    const sentUntilThen = sent;
    await pause(300);
    expect(sent).toBe(sentUntilThen);
  });

  it.each([
    ["loses", "lost"],
    ["repeats", "twice"],
    ["overwrites newer states", "wrong"],
    ["hides staleness", "wrong"],
    ["rejects", "rejected"],
  ] as const)("is not flawless for a receiver that %s: it is counted as %s", async (bug, counted) => {
    const report = await run(bug);
    expect(report[counted]).toBeGreaterThan(0);
    expect(isFlawless(report, cellOf(bug))).toBe(false);
  });
});
