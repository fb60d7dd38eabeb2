// The count of the chaos matrix, on a receiver in this process that keeps its promises or breaks one of them.
import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { listen } from "../support/listen.ts";
import type { ChaosCell } from "./chaos-cell.ts";
import { isFlawless, runCell } from "./run-cell.ts";

type Bug = "none" | "loses" | "repeats" | "has no order" | "rejects";

/** A receiver that stops for 200 ms and then accepts again. */
function cellOf(bug: Bug): ChaosCell {
  return {
    ...{ name: bug, needs: "postgres", brokenMs: 200, rejectsNothing: true },
    async start() {
      const effects: { id: string; atMs: number }[] = [];
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
          if (!isLost && (!isKnown || bug === "repeats" || bug === "rejects"))
            effects.push({ id, atMs: Date.now() });
          if (bug === "has no order" || occurredAt >= (newest.get(taskId)?.occurredAt ?? ""))
            newest.set(taskId, { occurredAt, status });
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

const load = { tasks: 40, beforeMs: 300, afterMs: 300, drainTimeoutMs: 2_000 };
const run = (bug: Bug) => runCell(cellOf(bug), 1, load);

describe.concurrent("a cell of the chaos matrix", () => {
  it("is flawless for a receiver that keeps its promises, and shows how long it paused", async () => {
    const report = await run("none");
    expect(report).toMatchObject({ lost: 0, twice: 0, wrong: 0, rejected: 0, examples: [] });
    expect(isFlawless(report, cellOf("none"))).toBe(true);
    expect(report.acceptPauseMs).toBeGreaterThan(150);
  });

  it.each([
    ["loses", "lost"],
    ["repeats", "twice"],
    ["has no order", "wrong"],
    ["rejects", "rejected"],
  ] as const)("is not flawless for a receiver that %s: it is counted as %s", async (bug, counted) => {
    const report = await run(bug);
    expect(report[counted]).toBeGreaterThan(0);
    expect(isFlawless(report, cellOf(bug))).toBe(false);
  });
});
