// Virtual time waits for every request in flight over a real socket, whichever client sends it.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import {
  createMockServer,
  createVirtualClock,
  type MockServer,
  type MockServerOptions,
} from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { jsonPost } from "../../support/mock-client.ts";

const exchange =
  "mutation ($key: String!) { exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken } }";
const bodyOf = (mock: MockServer) => JSON.stringify({ query: exchange, variables: { key: mock.apiKey } });

const virtualMock = (options: MockServerOptions = {}) => createMockServer({ clock: "virtual", ...options });

const clientOf = ({ baseUrl, gatewayUrl, apiKey, partnerApiKey, clock }: MockServer) =>
  createClient({ baseUrl, gatewayUrl, apiKey, partnerApiKey, clock });

/** Resolves with the virtual time that has passed when the promise settles. */
async function elapsedAtEnd(mock: MockServer, promise: Promise<unknown>): Promise<number> {
  const startMs = mock.clock.now();
  await promise;
  return mock.clock.now() - startMs;
}

/** A request whose body does not follow; resolves when the mock has received its head. */
async function sendIncomplete({ baseUrl }: MockServer, path: string): Promise<Socket> {
  const { host, port } = new URL(baseUrl);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => undefined);
  const headers = [`host: ${host}`, "content-length: 10", "expect: 100-continue"];
  socket.write([`POST ${path} HTTP/1.1`, ...headers, "\r\n"].join("\r\n"));
  await once(socket, "data");
  return socket;
}

// Where the clock waits for a request that does not end, advancing it rejects with CLOCK_BLOCKED.
describe("virtual time", () => {
  it("waits for the token exchange and the call of a client", async () => {
    await using mock = await virtualMock();
    await using client = clientOf(mock);
    const ended = elapsedAtEnd(mock, client.me());
    await mock.clock.advance("61s");
    // The client had its response before time moved.
    expect(await ended).toBe(0);
  });

  it("moves while a response is delayed by a fault, and while it stalls", async () => {
    await using mock = await virtualMock();
    const send = () => fetch(`${mock.baseUrl}/graphql`, jsonPost(bodyOf(mock)));
    await mock.control.setFaults({
      api: [{ instructions: [{ kind: "delay", delayMs: 5_000 }, { kind: "stall" }] }],
    });
    const delayed = send();
    await mock.clock.advance("4999ms");
    await mock.clock.advance("1ms");
    expect((await delayed).status).toBe(200);
    const stalled = await send();
    await mock.clock.advance("1h");
    await stalled.body?.cancel();
  });

  it("does not wait for a response that its client never reads", async () => {
    await using mock = await virtualMock();
    const response = await fetch(`${mock.baseUrl}/graphql`, jsonPost(bodyOf(mock)));
    await mock.clock.advance("1h");
    expect(response.status).toBe(200);
  });

  it("does not wait for requests that were aborted or whose connection was cut", async () => {
    await using mock = await virtualMock({
      faults: { api: [{ instructions: [{ kind: "reset-before-effect" }] }] },
    });
    const options = jsonPost(bodyOf(mock));
    await expect(fetch(`${mock.baseUrl}/graphql`, options)).rejects.toThrow("fetch failed");
    const abort = new AbortController();
    const aborted = fetch(`${mock.baseUrl}/graphql`, { ...options, signal: abort.signal });
    // Before a response can have arrived: a new connection takes several turns of the event loop.
    setImmediate(() => abort.abort());
    await expect(aborted).rejects.toThrow();
    await mock.clock.advance("1h");
  });

  it("is stopped once by a request that hangs, with an error that names it", async () => {
    const clock = createVirtualClock(undefined, { waitLimitMs: 200 });
    await using mock = await createMockServer({ clock });
    const socket = await sendIncomplete(mock, "/graphql");
    await expect(mock.clock.advance("1h")).rejects.toMatchObject({
      code: "CLOCK_BLOCKED",
      message: expect.stringContaining("POST /graphql"),
    });
    await mock.clock.advance("1h");
    socket.destroy();
  });

  it("that runs until a promise settles ends with an error when nothing can settle it", async () => {
    const clock = createVirtualClock(undefined, { waitLimitMs: 100 });
    await using mock = await createMockServer({ listen: false, clock });
    const never = new Promise<void>(() => undefined);
    await expect(mock.clock.runUntil(never, { limit: "1d" })).rejects.toMatchObject({
      code: "CLOCK_BLOCKED",
    });
    await expect(mock.clock.runUntil(Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  });

  it("of one world does not wait for requests to another", async () => {
    await using mock = await createMockServer();
    const one = await mock.worlds.create({ clock: "virtual" });
    const two = await mock.worlds.create({ clock: "virtual" });
    const socket = await sendIncomplete(mock, `/w/${two.name}/graphql`);
    await one.clock.advance("1h");
    await using client = createClient({ baseUrl: mock.baseUrl, apiKey: one.apiKey, clock: one.clock });
    const ended = client.me().then(() => one.clock.now());
    const nowMs = one.clock.now();
    await one.clock.advance("1h");
    expect(await ended).toBe(nowMs);
    socket.destroy();
  });
});
