import {
  type ControlApi,
  type ControlClientOptions,
  createControlClient,
  createMockServer,
  isMockServerError,
  type MockServer,
} from "@workspace-tasks/mock-server";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contract } from "../../../../mock-server/control/contract.ts";
import { checkedControlClient, startConnection } from "../../../support/mock-client.ts";
import { packageFlags } from "../../../support/package-flags.ts";
import { RunningProgram } from "../../../support/running-program.ts";

const url = "http://127.0.0.1:1/webhooks";

type Name = keyof ControlApi;
type Ids = Readonly<
  Record<"task" | "delivery" | "endpoint" | "event" | "key" | "member" | "connection", string>
>;

/** Parameters for every call of the contract. */
const examples: { readonly [Method in Name]: (ids: Ids) => readonly unknown[] } = {
  getHealth: () => [],
  getOverview: () => [],
  getClock: () => [],
  advanceClock: () => [{ by: "90s" }],
  reset: () => [],
  getSnapshot: () => [],
  restoreSnapshot: () => [{ format: "other" }],
  createWorld: () => [{ name: "other", seed: 7 }],
  listWorlds: () => [],
  dropWorld: () => ["other"],
  getSettings: () => [],
  changeSettings: () => [{ unauthenticatedStatus: 200 }],
  getSeedData: () => [],
  addSeedData: () => [{ workspaces: [{ name: "Acme", clients: [{ name: "Miller" }] }] }],
  listWorkspaces: () => [],
  updateMembership: ({ member }) => [member, { role: "l2" }],
  removeMembership: ({ member }) => [member],
  createApiKey: () => [{ access: "read_only" }],
  listApiKeys: () => [],
  revokeApiKey: ({ key }) => [key],
  createPartnerKey: () => [],
  listPartnerKeys: () => [],
  createPartnerToken: () => [{ keyId: "none" }],
  createTokens: () => [],
  listRateLimits: () => [],
  startTask: () => [{ taskType: "TAX_PREP", progression: "timed" }],
  listTasks: () => [{ order: "desc", limit: 2 }],
  getTask: ({ task }) => [task],
  setTaskStatus: ({ task }) => [task, { status: "FAILED", errorMessage: "no" }],
  setStageStatus: ({ task }) => [task, { subTaskType: "review", status: "COMPLETED" }],
  setTaskPlan: () => ["BINDER", { progression: "immediate" }],
  syncDocuments: ({ connection }) => [{ connectionId: connection, documents: [{ fileName: "w2.pdf" }] }],
  addCatalogEvent: () => [{ name: "client.archived" }],
  listCatalog: () => [],
  sendEvent: () => [{ name: "client.archived", payload: { clientId: "c" } }],
  getEvent: ({ event }) => [event],
  createEndpoint: () => [{ url, eventTypes: ["task.failed"] }],
  listEndpoints: () => [],
  updateEndpoint: ({ endpoint }) => [endpoint, { enabled: false }],
  deleteEndpoint: ({ endpoint }) => [endpoint],
  rotateEndpointSecret: ({ endpoint }) => [endpoint, { gracePeriodSeconds: 60 }],
  getEndpoint: ({ endpoint }) => [endpoint],
  countDeliveries: () => [{ bars: 10 }],
  countRequests: () => [{ result: "limited" }],
  listDeliveries: () => [{ status: "succeeded", limit: 3 }],
  getDelivery: ({ delivery }) => [delivery],
  replayDelivery: ({ delivery }) => [delivery],
  replayDeliveries: () => [{ rejected: false, limit: 2 }],
  waitForDeliveries: () => [{ count: 1, timeoutMs: 0 }],
  listRequests: () => [{ order: "desc" }],
  getRequest: () => ["1"],
  waitForRequests: () => [{ operation: "me", count: 1, timeoutMs: 0 }],
  search: () => [{ text: "task", limit: 3 }],
  listUploads: () => [],
  getUpload: () => ["none"],
  addOverride: () => [{ operation: "me", data: null, times: 1 }],
  listOverrides: () => [],
  removeOverride: () => ["1"],
  clearOverrides: () => [],
  getFaults: () => [],
  setFaults: () => [{ deliveries: [{ chances: [{ probability: 0.5, fault: { kind: "duplicate" } }] }] }],
  addFaults: () => [{ api: [{ instructions: [{ kind: "stall" }] }] }],
  removeFault: () => ["1"],
  clearFaults: () => [],
};

/** Equal seeds give equal ids, so two mocks that were set up alike differ only in how they are called. */
async function setUp(): Promise<{ mock: MockServer; ids: Ids }> {
  const receivers = new Map([[url, () => new Response(null, { status: 204 })]]);
  const mock = await createMockServer({ listen: false, clock: "virtual", receivers });
  const { control } = mock;
  const endpoint = await control.createEndpoint({ url });
  const task = await control.startTask({ taskType: "TAX_PREP", progression: "manual" });
  const key = await control.createApiKey();
  const connection = await startConnection(mock);
  await mock.clock.settle();
  const [delivery] = (await control.listDeliveries()).data;
  const ids = {
    task: task.taskId,
    delivery: delivery?.id ?? "",
    event: delivery?.eventId ?? "",
    endpoint: endpoint.id,
    key: key.id,
    member: key.membershipId ?? "",
    connection,
  };
  return { mock, ids };
}

async function outcomeOf(api: ControlApi, name: Name, parameters: readonly unknown[]): Promise<unknown> {
  const method = api[name] as (...parameters: readonly unknown[]) => Promise<unknown>;
  try {
    const text = JSON.stringify((await method(...parameters)) ?? null);
    // Mocks without a port have different URLs, and real time moves between two calls.
    return {
      value: JSON.parse(
        text
          .replaceAll(/mock-\d+\.localhost/g, "mock.localhost")
          .replaceAll(/"aheadOfRealMs":-?[\d.]+/g, '"aheadOfRealMs":0'),
      ),
    };
  } catch (error) {
    if (!isMockServerError(error)) throw error;
    return { code: error.code, message: error.message };
  }
}

describe("ControlApi", () => {
  it("returns the same in process and over HTTP, for every call of the contract, in any order", async () => {
    const names = Object.keys(contract) as Name[];
    expect(Object.keys(examples).sort()).toEqual([...names].sort());
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(names, { minLength: names.length }), async (calls) => {
        const [inProcess, overHttp] = [await setUp(), await setUp()];
        const client = checkedControlClient(overHttp.mock);
        expect(overHttp.ids).toEqual(inProcess.ids);
        for (const name of calls) {
          const parameters = examples[name](inProcess.ids);
          const expected = await outcomeOf(inProcess.mock.control, name, parameters);
          expect(await outcomeOf(client, name, parameters), name).toEqual(expected);
        }
        await Promise.all([inProcess.mock.close(), overHttp.mock.close()]);
      }),
      { numRuns: 5, seed: 20_260_115 },
    );
  });
});

describe("input that is wrong", () => {
  it("any JSON has the same outcome in process and over HTTP", async () => {
    const withInput = (Object.keys(contract) as Name[]).filter(
      (name) => contract[name].input && !name.startsWith("waitFor"),
    );
    const fields = fc.constantFrom("taskType", "role", "by", "name", "payload", "status", "limit", "url");
    const input = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.dictionary(fields, fc.jsonValue({ maxDepth: 2 })),
    );
    // Both mocks get the same calls, so they stay alike.
    const [inProcess, overHttp] = [await setUp(), await setUp()];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...withInput), input, async (name, given) => {
        const [id] = examples[name](inProcess.ids);
        const parameters = contract[name].call.includes("{") ? [id, given] : [given];
        expect(await outcomeOf(checkedControlClient(overHttp.mock), name, parameters)).toEqual(
          await outcomeOf(inProcess.mock.control, name, parameters),
        );
      }),
      { numRuns: 150, seed: 20_260_115 },
    );
    await Promise.all([inProcess.mock.close(), overHttp.mock.close()]);
  });
});

describe("createControlClient", () => {
  it("escapes ids and leaves undefined query fields out", async () => {
    const calls: string[] = [];
    const control = createControlClient({
      baseUrl: "http://mock.localhost",
      fetch: async (target) => {
        calls.push(`${target.pathname}${target.search}`);
        return Response.json({});
      },
    });
    await control.getTask("a/b?c");
    await control.listTasks({ order: "desc", status: undefined, limit: 5 }, null as never);
    expect(calls).toEqual(["/_mock/v1/tasks/a%2Fb%3Fc", "/_mock/v1/tasks?order=desc&limit=5"]);
  });

  it.each([
    [{ baseUrl: "mock" }, 'baseUrl: expected a URL such as http://127.0.0.1:4010, got "mock"'],
    [{ baseURL: "http://127.0.0.1:4010" }, "unknown option baseURL; did you mean baseUrl?"],
    [{ baseUrl: "http://127.0.0.1:4010", timeoutMs: "1s" }, "timeoutMs: expected a number of at least 1"],
  ])("rejects the options %j", (options, message) => {
    expect(() => createControlClient(options as ControlClientOptions)).toThrow(
      `createControlClient: ${message}`,
    );
  });

  const clientOf = (respond: (init: RequestInit) => Promise<Response>, timeoutMs?: number) =>
    createControlClient({
      baseUrl: "http://mock.localhost",
      timeoutMs,
      fetch: (_, init) => respond(init),
    });

  it("gives a wait without timeoutMs the time that the mock waits, beyond its own limit", async () => {
    const slow = ({ signal }: RequestInit) =>
      new Promise<Response>((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
        setTimeout(() => resolve(Response.json({ data: [] })), 50);
      });
    await expect(clientOf(slow, 5).getHealth()).rejects.toMatchObject({ code: "REQUEST_TIMEOUT" });
    expect(await clientOf(slow, 5).waitForRequests()).toEqual({ data: [] });
    expect(await clientOf(slow, 5).waitForDeliveries({ count: 1 })).toEqual({ data: [] });
  });

  it("rejects with NETWORK_FAILED when no server listens", async () => {
    const control = createControlClient({ baseUrl: "http://127.0.0.1:1" });
    await expect(control.getHealth()).rejects.toMatchObject({
      code: "NETWORK_FAILED",
      message: "no mock responds at http://127.0.0.1:1",
      cause: expect.any(Error),
    });
  });

  it("sends dates, and what occurs twice without a cycle", async () => {
    const bodies: unknown[] = [];
    const control = clientOf(async ({ body }) => {
      bodies.push(JSON.parse(String(body)));
      return Response.json({});
    });
    const at = new Date(0);
    await control.sendEvent({ name: "x", payload: { first: { at }, second: { at }, none: undefined } });
    const written = { at: at.toISOString() };
    expect(bodies).toEqual([{ name: "x", payload: { first: written, second: written } }]);
  });

  const endless = () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));

  it.each([
    ["fetch", () => new Promise<Response>(() => {})],
    ["body", async () => endless()],
  ])("ends a call at its time limit when a %s ignores its signal", async (_, respond) => {
    await expect(clientOf(respond, 5).getHealth()).rejects.toMatchObject({ code: "REQUEST_TIMEOUT" });
    const aborting = new AbortController();
    const health = clientOf(respond).getHealth({ signal: aborting.signal });
    aborting.abort("not needed");
    await expect(health).rejects.toBe("not needed");
  });

  it("reads no more of a response than a snapshot has", async () => {
    let isCancelled = false;
    const source = {
      pull: (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(300_000_000)),
      cancel() {
        isCancelled = true;
      },
    };
    const health = clientOf(async () => new Response(new ReadableStream(source))).getHealth();
    await expect(health).rejects.toMatchObject({
      code: "RESPONSE_INVALID",
      message: "expected a mock at http://mock.localhost, got more than 512000000 bytes",
    });
    expect(isCancelled).toBe(true);
  });

  it("keeps its process alive until the time limit when fetch does nothing", async () => {
    const program = `
      import { createControlClient } from "@workspace-tasks/mock-server";
      const fetch = () => new Promise(() => {});
      const control = createControlClient({ baseUrl: "http://mock.localhost", fetch, timeoutMs: 50 });
      await control.getHealth().catch((error) => console.log(error.code));
    `;
    const args = [...packageFlags, "--input-type=module", "-e"];
    using running = new RunningProgram([...args, program]);
    expect(await running.ended()).toEqual({ code: 0, output: "REQUEST_TIMEOUT\n" });
  });

  const circular: Record<string, unknown> = {};
  circular["inner"] = { circular };
  it.each<[(control: ControlApi) => Promise<unknown>, string]>([
    [(control) => control.getTask(""), 'getTask: id: expected an id, got ""'],
    [
      (control) => control.getHealth({ signal: 5 as never }),
      "getHealth: options: signal: expected an AbortSignal, got a number",
    ],
    [
      (control) => control.listTasks({ status: ["FAILED"] as never }),
      "listTasks: status: expected text, a number, true or false, got an array",
    ],
    [
      (control) => control.sendEvent({ name: "x", payload: { list: [1, () => {}] } as never }),
      "sendEvent: payload.list.1: expected a value that JSON can express, got a function",
    ],
    [
      (control) => control.sendEvent({ name: "x", payload: circular }),
      "sendEvent: payload.inner.circular: expected a value that JSON can express, got an object that contains itself",
    ],
  ])("rejects what it cannot send before it sends anything (%#)", async (call, message) => {
    let sent = 0;
    const control = clientOf(async () => {
      sent++;
      return Response.json({});
    });
    await expect(call(control)).rejects.toMatchObject({ code: "ARGUMENT_INVALID", message });
    expect(sent).toBe(0);
  });

  it.each([
    ["an HTML page", () => new Response("<html>", { status: 200 })],
    [
      "another API's error",
      () => Response.json({ error: { code: "TEAPOT", message: "no" } }, { status: 418 }),
    ],
    ["an empty error", () => new Response(null, { status: 502 })],
  ])("rejects %s with RESPONSE_INVALID", async (_, respond) => {
    await expect(clientOf(async () => respond()).getHealth()).rejects.toMatchObject({
      code: "RESPONSE_INVALID",
    });
  });
});
