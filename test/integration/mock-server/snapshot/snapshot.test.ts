import {
  createMockServer,
  type MockServer,
  type MockServerOptions,
  type Snapshot,
} from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { readSnapshot } from "../../../../mock-server/snapshot/read-snapshot.ts";
import { snapshotVersion } from "../../../../mock-server/snapshot/snapshot-schema.ts";
import { createState } from "../../../../mock-server/world/world.ts";
import { callGraphql, startConnection, workspaceToken } from "../../../support/mock-client.ts";

const receiverUrl = "http://127.0.0.1:1/webhooks";

/** A receiver that is down for ten virtual minutes, so that retries wait while the snapshot is taken. */
const outageEndsAtSeconds = Date.UTC(2026, 0, 15, 12, 10) / 1_000;
function answerAfterOutage(request: Request): Response {
  const atSeconds = Number(request.headers.get("webhook-timestamp"));
  return new Response(null, { status: atSeconds < outageEndsAtSeconds ? 503 : 204 });
}

const start = (options: MockServerOptions = {}) =>
  createMockServer({
    listen: false,
    clock: "virtual",
    receivers: new Map([[receiverUrl, answerAfterOutage]]),
    ...options,
  });

/** Records of every kind, with stages and retries in progress. */
async function useMock(mock: MockServer): Promise<void> {
  await mock.control.createEndpoint({ url: receiverUrl });
  const connectionId = await startConnection(mock);
  const token = await workspaceToken(mock);
  const partner = { token, router: "gateway" as const };
  const collect =
    "mutation ($id: ID!) { collectProviderConnection(connectionId: $id, inputs: { firm: 7 }) { id } }";
  await callGraphql(mock, collect, { ...partner, variables: { id: connectionId } });
  const createJob =
    'mutation ($id: ID!) { createConnectionJob(connectionId: $id, jobName: "season") { id } }';
  const job = await callGraphql(mock, createJob, { ...partner, variables: { id: connectionId } });
  const jobId = job.createConnectionJob.id;
  const createWorks = `mutation ($id: ID!) {
    createJobWorks(connectionJobId: $id, inputs: [{ name: "Smith", externalId: "c-1" }]) { id }
  }`;
  const works = await callGraphql(mock, createWorks, { ...partner, variables: { id: jobId } });
  const createArtifacts = `mutation ($id: ID!) {
    createJobWorkArtifacts(jobWorkId: $id, inputs: [{ name: "w2.pdf", type: "w2", externalId: "a-1" }]) { id }
  }`;
  await callGraphql(mock, createArtifacts, { ...partner, variables: { id: works.createJobWorks[0].id } });
  const initiate = "mutation ($id: ID!) { initiateTaxPrepsImport(connectionJobId: $id) { status } }";
  await callGraphql(mock, initiate, { ...partner, variables: { id: jobId } });
  await mock.control.addCatalogEvent({ name: "client.archived" });
  await mock.control.setFaults({
    deliveries: [{ chances: [{ probability: 0.3, fault: { kind: "duplicate" } }] }],
  });
  await mock.fetch("/api/uploads", {
    method: "POST",
    headers: {
      "tus-resumable": "1.0.0",
      authorization: `Bearer ${token}`,
      "upload-length": "9",
      "content-type": "application/offset+octet-stream",
    },
    body: "abc",
  });
  await mock.clock.advance("2500ms");
}

/** What happens next: stages end, retries come due, new tasks start, a key is exchanged. */
async function continueWith(mock: MockServer): Promise<void> {
  await mock.clock.advance("1h");
  await mock.control.startTask({ taskType: "BINDER" });
  await mock.control.createApiKey({ role: "l2" });
  await workspaceToken(mock);
  await mock.clock.advance("3d");
}

describe("snapshot", () => {
  it("continues as the original did: same ids, deliveries, faults and journal", async () => {
    await using mock = await start();
    await useMock(mock);
    const snapshot = await mock.control.getSnapshot();
    expect(snapshot.state.progress.length).toBeGreaterThan(0);
    expect(snapshot.state.deliveries.some(({ status }) => status === "pending")).toBe(true);
    await continueWith(mock);

    await using other = await start({ seed: 99 });
    await other.control.restoreSnapshot(snapshot);
    expect(await other.control.getSnapshot()).toEqual(snapshot);
    await continueWith(other);
    const [ended, twinEnded] = [await mock.control.getSnapshot(), await other.control.getSnapshot()];
    const statuses = new Set(ended.state.tasks.map(({ status }) => status));
    expect([...statuses]).toEqual(["COMPLETED"]);
    expect(attemptIds(twinEnded)).toEqual(attemptIds(ended));
    expect(twinEnded.journal).toEqual(ended.journal);
    expect(twinEnded.state.tasks).toEqual(ended.state.tasks);
    expect(twinEnded.random).toEqual(ended.random);
  });

  it("keeps the order of stages that are due together", async () => {
    const stage = (type: string, durationMs: number) => ({ type, durationMs });
    const told: { readonly id: string | null; readonly about: string }[] = [];
    await using mock = await start({
      receivers: new Map([
        [
          receiverUrl,
          async (request) => {
            const { subTaskType, event } = JSON.parse(await request.text());
            told.push({ id: request.headers.get("webhook-id"), about: subTaskType ?? event });
            return new Response(null, { status: 204 });
          },
        ],
      ]),
      settings: {
        tasks: {
          plans: {
            TAX_PREP: {
              progression: "timed",
              stages: [stage("first of two", 1_000), stage("second of two", 1_000)],
            },
            BINDER: { progression: "timed", stages: [stage("only one", 2_000)] },
          },
        },
      },
    });
    await mock.control.createEndpoint({ url: receiverUrl });
    for (const taskType of ["TAX_PREP", "BINDER"]) await mock.control.startTask({ taskType });
    await mock.clock.advance("1500ms");
    const snapshot = await mock.control.getSnapshot();
    told.length = 0;
    await mock.clock.advance("1s");
    const original = told.splice(0);
    // The task that was started first does not end its stage first, so that the order says something.
    expect(original.map(({ about }) => about).slice(0, 2)).toEqual(["only one", "second of two"]);

    await mock.control.restoreSnapshot(snapshot);
    await mock.clock.advance("1s");
    expect(told).toEqual(original);
  });

  it("restores the keys, also in a mock with another seed", async () => {
    await using mock = await start({ seed: 1 });
    await using other = await start({ seed: 2 });
    expect(other.apiKey).not.toBe(mock.apiKey);
    const token = await workspaceToken(mock);
    await other.control.restoreSnapshot(await mock.control.getSnapshot());
    expect([other.apiKey, other.partnerApiKey, other.workspaceId]).toEqual([
      mock.apiKey,
      mock.partnerApiKey,
      mock.workspaceId,
    ]);
    expect((await callGraphql(other, "{ me { __typename } }", { token })).me.__typename).toBe(
      "WorkspaceUser",
    );
    await workspaceToken(other);
  });

  it.each([
    ["http://receiver:3000/", { httpHostsAllowed: ["receiver"] }, "add it to httpHostsAllowed"],
    ["http://[fd00::2]/", { httpHostsAllowed: ["[fd00::2]"] }, "add it to httpHostsAllowed"],
    ["http://127.0.0.1:1/", { allowLoopbackHttp: true }, "set allowLoopbackHttp"],
  ])("delivers to its endpoint %s only in a mock that allows it", async (url, settings, remedy) => {
    let received = 0;
    const respond = () => new Response(null, { status: 200 + ++received });
    const receivers = new Map([[url, respond]]);
    await using mock = await start({ settings, receivers });
    await using other = await start({ settings: { allowLoopbackHttp: false }, receivers });
    await mock.control.createEndpoint({ url });
    await other.control.restoreSnapshot(await mock.control.getSnapshot());
    await other.control.sendEvent({ name: "task.running", payload: {} });
    await other.clock.advance("1s");
    const [{ id = "" } = {}] = (await other.control.listDeliveries()).data;
    const host = new URL(url).hostname.replace(/[[\]]/g, "");
    expect((await other.control.getDelivery(id)).attempts).toMatchObject([
      { status: null, error: `not sent: plain HTTP to ${host} is not allowed; ${remedy}` },
    ]);
    expect(received).toBe(0);
    await other.control.changeSettings(settings);
    expect((await other.control.replayDelivery(id)).attempts).toMatchObject([{}, { status: 201 }]);
  });
});

const attemptIds = (snapshot: Snapshot) =>
  snapshot.state.deliveries.flatMap(({ id, attempts }) =>
    attempts.map(({ number, kind, startedAtMs, faults }) => [id, number, kind, startedAtMs, faults]),
  );

describe("readSnapshot rejects a document, and nothing changes, when it", () => {
  const rejectionOf = async (damage: (snapshot: Record<string, unknown>) => unknown): Promise<string> => {
    await using mock = await start();
    await useMock(mock);
    const before = await mock.control.getSnapshot();
    const damaged = damage(JSON.parse(JSON.stringify(before)));
    const error = await mock.control.restoreSnapshot(damaged as Snapshot).catch((reason: unknown) => reason);
    expect(await mock.control.getSnapshot()).toEqual(before);
    expect(error).toMatchObject({ code: "SNAPSHOT_INVALID" });
    return (error as Error).message;
  };

  it("is not a snapshot", async () => {
    for (const other of [null, {}, { format: "other", version: 1 }]) {
      expect(await rejectionOf(() => other)).toBe("this is not a snapshot of the mock");
    }
    for (const other of [7, "text", []]) {
      await using mock = await start();
      await expect(mock.control.restoreSnapshot(other as never)).rejects.toMatchObject({
        code: "SNAPSHOT_INVALID",
      });
    }
  });

  it("has a later version", async () => {
    const later = snapshotVersion + 1;
    expect(await rejectionOf((snapshot) => ({ ...snapshot, version: later }))).toBe(
      `the snapshot has version ${later}, this mock reads version ${snapshotVersion}: run the release that wrote it`,
    );
  });

  it("lacks any of its parts, named in the message", () => {
    const whole = createSample();
    for (const part of Object.keys(whole).filter((name) => name !== "format" && name !== "version")) {
      const { [part]: _, ...rest } = whole;
      expect(() => readSnapshot(rest)).toThrow(part);
    }
    for (const noun of Object.keys(whole.state)) {
      const { [noun]: _, ...rest } = whole.state;
      expect(() => readSnapshot({ ...whole, state: rest })).toThrow(`state.${noun}`);
      expect(() => readSnapshot({ ...whole, state: { ...whole.state, [noun]: [{}] } })).toThrow(
        `state.${noun}.0`,
      );
      expect(() => readSnapshot({ ...whole, state: { ...whole.state, [noun]: {} } })).toThrow(
        `state.${noun}`,
      );
    }
    expect(() => readSnapshot({ ...whole, more: 1 })).toThrow("damaged");
  });

  it("lacks a record that another one refers to", async () => {
    await using mock = await start();
    await useMock(mock);
    const whole = await mock.control.getSnapshot();
    const without = (noun: keyof typeof whole.state) => ({ ...whole, state: { ...whole.state, [noun]: [] } });
    expect(() => readSnapshot(whole)).not.toThrow();
    for (const [noun, named] of [
      ["users", "memberships.0.userId"],
      ["workspaces", "memberships.0.workspaceId"],
      ["connections", "jobs.0.connectionId"],
      ["clients", "tasks.0.clientId"],
      ["tasks", "progress.0.taskId"],
      ["events", "deliveries.0.eventId"],
      ["uploadContents", "uploadContents.0"],
    ] as const) {
      expect(() => readSnapshot(without(noun))).toThrow(`damaged: state.${named}`);
    }
    expect(() => readSnapshot({ ...whole, seedWorkspaceId: "none" })).toThrow("seedWorkspaceId");
    expect(() => readSnapshot(without("endpoints"))).not.toThrow();
  });

  it("has doubled keys, or a number, time or address that no record can have", async () => {
    await using mock = await start();
    await useMock(mock);
    const whole = JSON.stringify(await mock.control.getSnapshot());
    // biome-ignore lint/suspicious/noExplicitAny: parts of it are changed
    const changes: Readonly<Record<string, (snapshot: any) => void>> = {
      nowMs: (snapshot) => {
        snapshot.nowMs = 1e300;
      },
      "state.users.0.": ({ state }) => state.users.unshift({ ...state.users[0], id: "" }),
      "state.users.1 has the id": ({ state }) => state.users.unshift(state.users[0]),
      "state.deliveries.1 has the id": ({ state }) => state.deliveries.unshift(state.deliveries[0]),
      "state.progress.1 has the taskId": ({ state }) => state.progress.unshift(state.progress[0]),
      "state.clients.0.createdAtMs": ({ state }) => {
        state.clients[0].createdAtMs = 1e17;
      },
      "state.endpoints.0.url": ({ state }) => {
        state.endpoints[0].url = "not a url";
      },
      "state.endpoints.0.url: expected the URL of a receiver": ({ state }) => {
        state.endpoints[0].url = "file:///etc/passwd";
      },
      "endpoints.0.url: expected the URL of a receiver": ({ state }) => {
        state.endpoints[0].url = "https://user:password@hooks.example/";
      },
      "state.endpoints.0.secrets.0.secret": ({ state }) => {
        state.endpoints[0].secrets[0].secret = "whsec_%";
      },
      "journal.entries.0.sequence": ({ journal }) => {
        journal.entries[0].sequence = 7;
      },
    };
    for (const [place, change] of Object.entries(changes)) {
      const snapshot = JSON.parse(whole);
      change(snapshot);
      await expect(mock.control.restoreSnapshot(snapshot)).rejects.toMatchObject({
        code: "SNAPSHOT_INVALID",
        message: expect.stringContaining(place),
      });
      expect(JSON.stringify(await mock.control.getSnapshot())).toBe(whole);
    }
  });

  it("has more deliveries or tasks than the mock holds", async () => {
    await using mock = await start();
    await useMock(mock);
    await mock.control.startTask({ taskType: "BINDER" });
    const snapshot = await mock.control.getSnapshot();
    for (const bound of ["deliveriesMax", "tasksMax"] as const) {
      await using small = await start({ settings: { bounds: { [bound]: 1 } } });
      await expect(small.control.restoreSnapshot(snapshot)).rejects.toThrow(`settings.bounds.${bound}`);
    }
  });

  it("is nested too deeply", async () => {
    await using mock = await start();
    const whole = await (await mock.fetch("/_mock/v1/snapshot")).text();
    const restore = (depth: number) =>
      mock.fetch("/_mock/v1/snapshot", {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: whole.replace('"metadata":null', `"metadata":${"[".repeat(depth)}${"]".repeat(depth)}`),
      });
    const rejected = await restore(20_000);
    expect(rejected.status).toBe(422);
    expect(await rejected.text()).toContain("nested more than 500 levels deep");
    expect(await (await mock.fetch("/_mock/v1/snapshot")).text()).toBe(whole);
    expect((await restore(200)).status).toBe(204);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: parts are taken away from it
function createSample(): any {
  return {
    format: "workspace-tasks-mock",
    version: snapshotVersion,
    seed: 1,
    nowMs: 0,
    seedWorkspaceId: "w",
    random: {},
    limits: {},
    faults: { plan: {}, fired: [], requests: {} },
    journal: { count: 0, entries: [] },
    state: Object.fromEntries(Object.keys(createState()).map((noun) => [noun, []])),
  };
}

describe("reset", () => {
  it("makes the mock equal to a new one with the same seed", async () => {
    await using mock = await start();
    const fresh = await mock.control.getSnapshot();
    await useMock(mock);
    expect((await mock.control.getClock()).pendingTimers).toBeGreaterThan(0);
    await mock.control.reset();
    expect(await mock.control.getSnapshot()).toEqual(fresh);
    expect((await mock.control.getClock()).pendingTimers).toBe(0);
    expect((await mock.control.getHealth()).epoch).toBe(1);
    await using other = await start();
    await useMock(mock);
    await useMock(other);
    expect(attemptIds(await mock.control.getSnapshot()).length).toBe(
      attemptIds(await other.control.getSnapshot()).length,
    );
    expect((await mock.control.getSnapshot()).state.tasks).toEqual(
      (await other.control.getSnapshot()).state.tasks,
    );
  });
});
