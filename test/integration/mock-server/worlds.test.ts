import { createControlClient, createMockServer, type MockWorld } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hostWorld } from "../../../mock-server/mock-world.ts";
import { createNamedWorlds } from "../../../mock-server/named-worlds.ts";
import { createHttpTransport } from "../../../mock-server/node/http-transport.ts";
import { nodeHashing } from "../../../mock-server/node/platform.ts";
import { defaultSettings } from "../../../mock-server/settings/settings.ts";
import { createVirtualClock } from "../../../mock-server/time/virtual-clock.ts";
import { jsonPost } from "../../support/mock-client.ts";

const exchange =
  "mutation ($key: String!) { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken } }";

async function callAt(url: string, query: string, { token, key }: { token?: string; key?: string } = {}) {
  const response = await fetch(`${url}/graphql`, jsonPost({ query, variables: { key } }, token));
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
  return (await response.json()) as { data: any; errors?: readonly { message: string }[] };
}

const tokenAt = async (url: string, key: string): Promise<string> =>
  (await callAt(url, exchange, { key })).data.exchangeSurfaceRefreshTokenForAccessTokens.workspaceToken;

/** Everything that a world shows of itself. */
async function contentsOf({ control }: MockWorld) {
  const [snapshot, faults] = [await control.getSnapshot(), await control.getFaults()];
  return JSON.parse(JSON.stringify({ snapshot, faults })) as unknown;
}

describe("worlds over HTTP", () => {
  it("are created, listed, served below their path and dropped", async () => {
    await using mock = await createMockServer();
    const control = createControlClient({ baseUrl: mock.baseUrl });
    const created = await control.createWorld({ name: "a", clock: "virtual" });
    expect(created).toMatchObject({ name: "a", baseUrl: `${mock.baseUrl}/w/a`, clock: "virtual" });
    expect((await control.listWorlds()).data.map(({ name }) => name)).toEqual(["main", "a"]);
    await using client = createClient({
      baseUrl: created.baseUrl,
      gatewayUrl: created.gatewayUrl,
      apiKey: created.apiKey,
    });
    expect(await client.me()).toMatchObject({ workspace: { id: created.workspaceId } });
    await control.dropWorld("a");
    expect((await fetch(`${created.baseUrl}/_mock/v1/health`)).status).toBe(404);
  });

  it("take uploads below their path, and the URL of an upload keeps the path", async () => {
    await using mock = await createMockServer();
    await using world = await mock.worlds.create({ name: "a" });
    await using client = createClient({ baseUrl: world.baseUrl, apiKey: world.apiKey });
    const uploadId = await client.uploads.upload(Buffer.from("w2"), {
      fileName: "w2.pdf",
      mimeType: "application/pdf",
    });
    expect(uploadId).toBeTruthy();
    expect((await world.control.listUploads()).data).toHaveLength(1);
    expect((await mock.control.listUploads()).data).toEqual([]);
  });

  it.for(["", "a b", "../x", "é", "x".repeat(65)])("reject the name %j", async (name) => {
    await using mock = await createMockServer({ listen: false });
    await expect(mock.control.createWorld({ name })).rejects.toMatchObject({ code: "BODY_INVALID" });
  });

  it("reject a name in use, and are not created past the highest number of worlds", async () => {
    await using mock = await createMockServer({ listen: false });
    await mock.worlds.create({ name: "constructor" });
    await expect(mock.worlds.create({ name: "constructor" })).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(mock.worlds.create({ name: "main" })).rejects.toMatchObject({ code: "CONFLICT" });
    const hashing = nodeHashing;
    const pageFiles = () => new Map();
    const shared = {
      seed: 1,
      settings: defaultSettings,
      faults: undefined,
      version: "0",
      hashing,
      pageFiles,
    };
    const named = new Map();
    const setup = { ...shared, name: "main", clock: createVirtualClock(), named, directory: null };
    const main = hostWorld({ ...setup, transport: createHttpTransport() });
    const worlds = createNamedWorlds({
      shared,
      max: 2,
      main: () => main,
      origin: () => "http://localhost",
      createTransport: createHttpTransport,
      onVirtualClock() {},
    }).facade;
    await worlds.create();
    const { name, close } = await worlds.create();
    await expect(worlds.create()).rejects.toThrow("2 worlds");
    await close();
    expect((await worlds.create()).name).not.toBe(name);
    await expect(mock.control.dropWorld("main")).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("of one name created at once are one world", async () => {
    await using mock = await createMockServer({ listen: false });
    const results = await Promise.allSettled(
      [1, 2, 3].map(() => mock.worlds.create({ name: "a", from: "main" })),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
  });
});

describe("a request without a prefix", () => {
  it("is served by the world of its token, or of the key that it exchanges", async () => {
    await using mock = await createMockServer();
    const world = await mock.worlds.create({ name: "a" });
    const token = await tokenAt(mock.baseUrl, world.apiKey);
    const { data } = await callAt(mock.baseUrl, "{ me { ... on WorkspaceUser { workspace { id } } } }", {
      token,
    });
    expect(data.me.workspace.id).toBe(world.workspaceId);
    await using client = createClient({ baseUrl: mock.baseUrl, apiKey: world.apiKey });
    await client.uploads.upload(Buffer.from("w2"), { fileName: "w2.pdf", mimeType: "application/pdf" });
    expect((await world.control.listUploads()).data).toHaveLength(1);
    expect((await mock.control.listRequests()).data).toEqual([]);
  });

  it("is rejected when several worlds have its key", async () => {
    await using mock = await createMockServer();
    const one = await mock.worlds.create({ seed: 5 });
    const two = await mock.worlds.create({ seed: 5 });
    expect(two.apiKey).toBe(one.apiKey);
    expect((await callAt(mock.baseUrl, exchange, { key: one.apiKey })).errors?.[0]?.message).toContain(
      "/w/{name}",
    );
    expect(await tokenAt(two.baseUrl, one.apiKey)).toBeTruthy();
  });

  it("has the mock's own world when no world has its key", async () => {
    await using mock = await createMockServer();
    await mock.worlds.create();
    expect(await tokenAt(mock.baseUrl, mock.apiKey)).toBeTruthy();
    const { errors } = await callAt(mock.baseUrl, "{ me { __typename } }", { token: "a.b.c" });
    expect(errors?.[0]?.message).toBe("Unauthorized");
  });
});

describe("a copied world", () => {
  it("starts as its origin is, with the same keys, and changes without it", async () => {
    const receivers = new Map([["http://127.0.0.1:1/hook", () => new Response(null, { status: 500 })]]);
    await using mock = await createMockServer({ clock: "virtual", receivers });
    await mock.control.createEndpoint({ url: "http://127.0.0.1:1/hook" });
    await mock.control.startTask({ taskType: "TAX_PREP" });
    await mock.clock.advance("3s");
    await using copy = await mock.worlds.create({ from: "main" });
    expect(await contentsOf(copy)).toEqual(await contentsOf(mock));
    await copy.clock.advance("1d");
    const snapshot = await copy.control.getSnapshot();
    await mock.clock.advance("1d");
    expect(await contentsOf(copy)).toEqual(await contentsOf(mock));
    await using other = await mock.worlds.create({ snapshot });
    expect(await contentsOf(other)).toEqual(await contentsOf(copy));
    expect(await tokenAt(copy.baseUrl, mock.apiKey)).toBeTruthy();
  });

  it("does not accept the tokens of its origin", async () => {
    await using mock = await createMockServer();
    const copy = await mock.worlds.create({ from: "main" });
    const token = await tokenAt(mock.baseUrl, mock.apiKey);
    expect((await callAt(copy.baseUrl, "{ me { __typename } }", { token })).errors).toBeDefined();
  });

  it("has one origin and its seed", async () => {
    await using mock = await createMockServer({ listen: false });
    const snapshot = await mock.control.getSnapshot();
    for (const input of [
      { from: "main", snapshot },
      { from: "main", seed: 2 },
    ]) {
      await expect(mock.worlds.create(input)).rejects.toMatchObject({ code: "BODY_INVALID" });
    }
    await expect(mock.worlds.create({ from: "none" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("isolation of worlds", () => {
  it("an action in one world changes no other, whatever is done in any order", async () => {
    type Act = (world: MockWorld) => Promise<unknown>;
    const actions: Readonly<Record<string, Act>> = {
      task: ({ control }) => control.startTask({ taskType: "TAX_PREP", progression: "immediate" }),
      endpoint: ({ control }) => control.createEndpoint({ url: "http://127.0.0.1:1/hook" }),
      key: ({ control }) => control.createApiKey(),
      faults: ({ control }) => control.setFaults({ profile: "contract" }),
      advance: ({ clock }) => clock.advance("10m"),
      call: ({ baseUrl, fetch, apiKey }) =>
        fetch(`${baseUrl}/graphql`, jsonPost({ query: exchange, variables: { key: apiKey } })),
      reset: ({ control }) => control.reset(),
      restore: async ({ control }) => control.restoreSnapshot(await control.getSnapshot()),
    };
    const receivers = new Map([["http://127.0.0.1:1/hook", () => new Response(null, { status: 204 })]]);
    const step = fc.record({ world: fc.nat({ max: 3 }), action: fc.constantFrom(...Object.keys(actions)) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        await using mock = await createMockServer({ listen: false, clock: "virtual", receivers });
        const worlds = [
          mock,
          await mock.worlds.create(),
          await mock.worlds.create(),
          await mock.worlds.create({ seed: 1 }),
        ];
        for (const { world, action } of steps) {
          const others = worlds.filter((_, index) => index !== world);
          const before = await Promise.all(others.map(contentsOf));
          await actions[action]?.(worlds[world] as MockWorld);
          await (worlds[world] as MockWorld).clock.settle();
          expect(await Promise.all(others.map(contentsOf)), action).toEqual(before);
        }
        // The same steps in a mock without other worlds lead to the same state.
        await using alone = await createMockServer({ listen: false, clock: "virtual", receivers });
        for (const { action } of steps.filter(({ world }) => world === 0)) {
          await actions[action]?.(alone);
          await alone.clock.settle();
        }
        expect(await contentsOf(mock)).toEqual(await contentsOf(alone));
      }),
      { numRuns: 15, seed: 19 },
    );
  });

  it("a dropped world leaves no timer, wait, delivery or stream", async () => {
    await using mock = await createMockServer();
    const world = await mock.worlds.create({ name: "a", clock: "virtual" });
    await world.control.createEndpoint({ url: "http://127.0.0.1:1/hook" });
    await world.control.startTask({ taskType: "TAX_PREP" });
    const stream = await fetch(`${world.baseUrl}/_mock/v1/stream`);
    const waiting = world.control.waitForDeliveries({ count: 9, timeoutMs: 60_000 });
    const activities: unknown[] = [];
    world.subscribe((activity) => activities.push(activity));
    await mock.control.dropWorld("a");
    await expect(waiting).rejects.toMatchObject({ code: "MOCK_CLOSED" });
    expect((await stream.text()).length).toBeGreaterThan(0);
    const seen = activities.length;
    await world.clock.advance("1h"); // a stage of the task would have ended
    expect(activities.length).toBe(seen);
    expect(mock.worlds.list()).toEqual([]);
  });
});
