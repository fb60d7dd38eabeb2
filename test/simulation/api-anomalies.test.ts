import { expect, it } from "vitest";
import {
  createMockServer,
  createVirtualClock,
  type MockServer,
  type VirtualClock,
} from "workspace-tasks/mock-server";
import {
  type CreateClientOptions,
  createClient,
  isWorkspaceTasksError,
  type WorkspaceTasksClient,
} from "workspace-tasks/sdk";
import { advanceUntilSettled } from "../support/advance-until-settled.ts";
import { type Calls, failureMoments, sweep } from "./failure-sweep.ts";

const connectionReset = () =>
  new TypeError("fetch failed", {
    cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
  });

it("a client reports every outcome correctly when any single request fails", async () => {
  const { runs, calls } = await sweep(runClientScenario, {
    moments: [...failureMoments, "without end"],
    error: connectionReset,
  });
  expect(calls).toContain("/graphql");
  expect(calls).toContain("/api/uploads");
  expect(runs).toBe(1 + 3 * calls.length);
}, 120_000);

type Fetch = NonNullable<CreateClientOptions["fetch"]>;
type Outcome = "done" | "not_sent" | "rejected" | "unknown";

async function runClientScenario(calls: Calls): Promise<void> {
  const clock = createVirtualClock();
  const url = "https://elsewhere.example/webhooks";
  const receivers = new Map([[url, () => new Response(null, { status: 204 })]]);
  await using mock = await createMockServer({ listen: false, clock, receivers });
  const fetch: Fetch = (input, init) => calls.through(kindOf(input), () => mock.fetch(input, init));
  // The mock loads its upload handler with the first upload. Load it now: loading takes real time.
  await mock.fetch("/api/uploads", { method: "OPTIONS" });
  const client = createClient({
    apiKey: mock.apiKey,
    baseUrl: mock.baseUrl,
    fetch,
    clock: { ...clock },
    random: () => 0.5,
    timeoutMs: 5_000,
  });
  const { taskId } = await mock.control.startTask({ taskType: "BINDER" });
  const { endpoints } = client.webhooks;

  const created = await outcomeOf(clock, () => endpoints.create({ url, description: "registration" }));
  checkEffect(created, await count(mock, "registration"), "registration");
  await outcomeOf(clock, () => endpoints.list().toArray());
  const waited = await outcomeOf(clock, () => client.tasks.waitFor(taskId, { deadlineMs: 120_000 }));
  expect(waited, "waiting for a task").toBe("done");
  const endpointId = (await mock.control.listEndpoints()).data[0]?.id;
  if (endpointId !== undefined) await changeEndpoint(clock, mock, client, endpointId);
  await outcomeOf(clock, () =>
    client.uploads.upload(Buffer.from("text"), { fileName: "a.txt", mimeType: "text/plain" }),
  );
  // The client works after any failure, and leaves no timers behind.
  expect(await outcomeOf(clock, () => client.me()), "the next call").toBe("done");
  expect(await outcomeOf(clock, () => client.close()), "closing").toBe("done");
  expect(clock.pending().timers, "timers left behind").toBe(0);
}

async function changeEndpoint(
  clock: VirtualClock,
  mock: MockServer,
  { webhooks: { endpoints } }: WorkspaceTasksClient,
  endpointId: string,
): Promise<void> {
  const updated = await outcomeOf(clock, () => endpoints.update(endpointId, { description: "changed" }));
  checkEffect(updated, await count(mock, "changed"), "update");
  const rotated = await outcomeOf(clock, () => endpoints.rotateSecret(endpointId));
  checkEffect(rotated, (await mock.control.getEndpoint(endpointId)).secrets.length - 1, "rotation");
}

const count = async (mock: MockServer, description: string) =>
  (await mock.control.listEndpoints()).data.filter((endpoint) => endpoint.description === description).length;

function checkEffect(outcome: Outcome, times: number, what: string): void {
  const allowed = { done: [1], unknown: [0, 1], rejected: [0], not_sent: [0] }[outcome];
  expect(allowed, `${what}: outcome ${outcome}, took effect ${times} times`).toContain(times);
}

const hangsAfterSeconds = 300;

/** Advances the clock until the call settles. Fails when it hangs, or with an error that is not the SDK's. */
async function outcomeOf(clock: VirtualClock, call: () => Promise<unknown>): Promise<Outcome> {
  try {
    await advanceUntilSettled(clock, call(), hangsAfterSeconds);
    return "done";
  } catch (error) {
    if (isWorkspaceTasksError(error)) return error.outcome;
    throw error;
  }
}

const kindOf = (input: URL | string) => new URL(input).pathname.split("/").slice(0, 3).join("/");
