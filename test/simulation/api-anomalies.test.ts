import { expect, test } from "vitest";
import {
  createMockServer,
  createVirtualClock,
  type MockServer,
  type VirtualClock,
} from "workspace-tasks/mock-server";
import { createReceiver, memoryInbox } from "workspace-tasks/receiver-kit";
import {
  type CreateClientOptions,
  createClient,
  isWorkspaceTasksError,
  type WorkspaceTasksClient,
} from "workspace-tasks/sdk";
import { type Calls, failureMoments, sweep } from "./sweep.ts";

const connectionCut = () =>
  new TypeError("fetch failed", {
    cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
  });

test("a client is right in the end whichever request fails, and whenever", async () => {
  const { plays, calls } = await sweep(tellClientStory, {
    moments: [...failureMoments, "without end"],
    error: connectionCut,
  });
  expect(calls).toContain("/graphql");
  expect(calls).toContain("/api/uploads");
  expect(plays).toBe(1 + 3 * calls.length);
}, 60_000);

test("the sweep bites: a client that sends a mutation again is found", async () => {
  const careless = sweep((calls) => tellClientStory(calls, sendingTwice), { error: connectionCut });
  await expect(careless).rejects.toThrow(/failed after its effect: .*registration/);
});

test("a delivery arrives and takes effect once whichever send fails, and whenever", async () => {
  const { plays, calls } = await sweep(tellDeliveryStory, { error: connectionCut });
  expect(plays).toBe(1 + 2 * calls.length);
});

/** Repeats every request whose connection was cut, whatever it asked for. */
const sendingTwice =
  (fetch: Fetch): Fetch =>
  (input, init) =>
    fetch(input, init).catch(() => fetch(input, init));

type Fetch = NonNullable<CreateClientOptions["fetch"]>;
type Ending = "done" | "not_sent" | "rejected" | "unknown";

async function tellClientStory(calls: Calls, change = (fetch: Fetch): Fetch => fetch): Promise<void> {
  const clock = createVirtualClock();
  const url = "https://elsewhere.example/webhooks";
  const receivers = new Map([[url, () => new Response(null, { status: 204 })]]);
  await using mock = await createMockServer({ listen: false, clock, receivers });
  const fetch: Fetch = (input, init) => calls.through(kindOf(input), () => mock.fetch(input, init));
  // The mock loads its upload handler with the first upload, which takes real time; not with one that is timed.
  await mock.fetch("/api/uploads", { method: "OPTIONS" });
  const client = createClient({
    apiKey: mock.apiKey,
    baseUrl: mock.baseUrl,
    fetch: change(fetch),
    clock: { ...clock },
    random: () => 0.5,
    timeoutMs: 5_000,
  });
  const { taskId } = mock.admin.startTask({ taskType: "BINDER" });
  const { endpoints } = client.webhooks;

  const created = await endOf(clock, () => endpoints.create({ url, description: "registration" }));
  judgeEffect(created, count(mock, "registration"), "registration");
  await endOf(clock, () => endpoints.list().toArray());
  const waited = await endOf(clock, () => client.tasks.waitFor(taskId, { deadlineMs: 120_000 }));
  expect(waited, "waiting for a task").toBe("done");
  const endpointId = mock.admin.endpoints()[0]?.id;
  if (endpointId !== undefined) await changeEndpoint(clock, mock, client, endpointId);
  await endOf(clock, () =>
    client.uploads.upload(Buffer.from("text"), { fileName: "a.txt", mimeType: "text/plain" }),
  );
  // Whatever failed before, the client goes on, and leaves nothing behind.
  expect(await endOf(clock, () => client.me()), "the next call").toBe("done");
  expect(await endOf(clock, () => client.close()), "closing").toBe("done");
  expect(clock.pending().timers, "timers left behind").toBe(0);
}

async function changeEndpoint(
  clock: VirtualClock,
  mock: MockServer,
  { webhooks: { endpoints } }: WorkspaceTasksClient,
  endpointId: string,
): Promise<void> {
  const updated = await endOf(clock, () => endpoints.update({ endpointId, description: "changed" }));
  judgeEffect(updated, count(mock, "changed"), "update");
  const rotated = await endOf(clock, () => endpoints.rotateSecret({ endpointId }));
  judgeEffect(rotated, mock.admin.endpointSecrets(endpointId).length - 1, "rotation");
}

const count = (mock: MockServer, description: string) =>
  mock.admin.endpoints().filter((endpoint) => endpoint.description === description).length;

function judgeEffect(ending: Ending, times: number, what: string): void {
  const allowed = { done: [1], unknown: [0, 1], rejected: [0], not_sent: [0] }[ending];
  expect(allowed, `${what}: ended ${ending}, took effect ${times} times`).toContain(times);
}

const hangsAfterSeconds = 300;

/** Lets time pass until the call is over; fails when it hangs, or with an error that is not the SDK's. */
async function endOf(clock: VirtualClock, call: () => Promise<unknown>): Promise<Ending> {
  let ending: Ending | undefined;
  let stray: unknown;
  call().then(
    () => {
      ending = "done";
    },
    (error: unknown) => {
      if (isWorkspaceTasksError(error)) ending = error.outcome;
      else stray = error;
    },
  );
  for (let seconds = 0; seconds < hangsAfterSeconds && !ending && !stray; seconds++)
    await clock.advance(1_000);
  if (stray) throw new Error("failed with an error that is not the SDK's", { cause: stray });
  if (!ending) throw new Error("hangs");
  return ending;
}

const kindOf = (input: URL | string) => new URL(input).pathname.split("/").slice(0, 3).join("/");

const silent = { info() {}, warn() {}, error() {} };

async function tellDeliveryStory(calls: Calls): Promise<void> {
  const clock = createVirtualClock();
  const url = "https://receiver.example/webhooks";
  const rows = memoryInbox({ clock });
  const secrets: string[] = [];
  const receiver = createReceiver({ secrets: () => secrets, inbox: rows, clock, logger: silent });
  const receivers = new Map([
    [url, (request: Request) => calls.through("send", () => receiver.fetch(request))],
  ]);
  await using mock = await createMockServer({ listen: false, clock, receivers });
  await using client = createClient({ apiKey: mock.apiKey, baseUrl: mock.baseUrl, fetch: mock.fetch, clock });
  secrets.push((await client.webhooks.endpoints.create({ url })).signingSecret);
  const effects: string[] = [];
  const board = new Map<string, string>();
  receiver.on("*", ({ event }, { transaction }) => transaction.apply(() => effects.push(event)));
  receiver.onState("task", ({ taskId, status }) => void board.set(taskId, status));
  await receiver.start();

  const taskIds = ["BINDER", "TAX_ADVISOR"].map((taskType) => mock.admin.startTask({ taskType }).taskId);
  await clock.advance(600_000);
  const closed = receiver.close();
  await clock.advance(1_000);
  await closed;
  const deliveries = mock.admin.deliveries().data;
  expect(deliveries.filter(({ status }) => status !== "succeeded")).toEqual([]);
  expect(effects.toSorted()).toEqual(deliveries.map(({ event }) => event).toSorted());
  expect(taskIds.map((id) => board.get(id))).toEqual(["COMPLETED", "COMPLETED"]);
  expect((await rows.stats()).rows).toMatchObject({ pending: 0, running: 0, dead: 0, quarantined: 0 });
}
