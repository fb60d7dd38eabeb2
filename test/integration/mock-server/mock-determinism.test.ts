// Equal seeds and equal calls give equal faults and journals over real sockets too, whichever receiver responds first.
// `CHAOS_RUNS=100 npx vitest run test/integration/mock-server/mock-determinism.test.ts` runs a hundred instead of four.

import { createServer } from "node:http";
import {
  createMockServer,
  type FaultPlan,
  type MockWorld,
  type Snapshot,
} from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { contractProfile } from "../../../mock-server/faults.ts";
import { listen } from "../../support/listen.ts";
import { jsonPost } from "../../support/mock-client.ts";

const runs = Number(process.env["CHAOS_RUNS"] ?? 4);

const faults: FaultPlan = {
  deliveries: [
    ...(contractProfile.deliveries ?? []),
    { chances: [{ probability: 0.05, fault: { kind: "wrong-signature" } }] },
    { event: "task.completed", instructions: [{ kind: "drop" }, { kind: "pass" }, { kind: "reorder" }] },
  ],
  api: [
    {
      operation: "webhookEventCatalog",
      chances: [{ probability: 0.4, fault: { kind: "html", status: 503 } }],
    },
  ],
};

/** Receivers that respond after up to `jitterMs`, in a different order in every run, and reject every fifth delivery. */
async function listenWithJitter(jitterMs: number) {
  const server = createServer((request, response) => {
    const id = String(request.headers["webhook-id"]);
    const isRejected = Number.parseInt(id.slice(-4), 16) % 5 === 0;
    request.resume().once("end", () => {
      setTimeout(
        () => response.writeHead(isRejected ? 500 : 204, { date: "" }).end(),
        Math.random() * jitterMs,
      );
    });
  });
  return listen(server);
}

/** Everything that a run leaves, but for the order of concurrent requests. */
const journalOf = ({ state, faults, nowMs, journal }: Snapshot) => ({
  nowMs,
  fired: faults.fired,
  requests: journal.entries,
  tasks: state.tasks,
  deliveries: state.deliveries.map(({ attempts, ...delivery }) => ({
    ...delivery,
    attempts: attempts.map(({ responseHeaders: _, ...attempt }) => attempt),
  })),
});

async function startTasks({ control, clock, baseUrl }: MockWorld) {
  // All events of a task happen at one instant, and each delivery waits for the one before.
  for (let task = 0; task < 4; task++) {
    await control.startTask({ taskType: "TAX_PREP", progression: "immediate" });
  }
  await control.startTask({ taskType: "BINDER" });
  await clock.advance("1s");
  for (let call = 0; call < 8; call++) {
    const request = jsonPost({ query: `{ webhookEventCatalog { name } } # ${call % 3}` });
    await (await fetch(`${baseUrl}/graphql`, request)).text();
  }
}

describe("a run with chaos and receivers of random speed", () => {
  it(`leaves the same faults, requests and attempts in ${runs} runs`, async () => {
    await using receiver = await listenWithJitter(4);
    const run = async (): Promise<unknown> => {
      await using mock = await createMockServer({ clock: "virtual", seed: 42, faults });
      for (const path of ["a", "b"]) await mock.control.createEndpoint({ url: `${receiver.origin}/${path}` });
      await startTasks(mock);
      await mock.clock.advance("10m");
      return journalOf(await mock.control.getSnapshot());
    };
    const first = await run();
    for (let count = 1; count < runs; count++) expect(await run()).toEqual(first);
  }, 600_000);
});
