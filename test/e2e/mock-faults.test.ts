import { describe, expect, test } from "vitest";
import { type ApiFault, createMockServer, type MockServer } from "workspace-tasks/mock-server";
import { workspaceToken } from "../support/mock-client.ts";

const createDocument = `mutation {
  createWebhookEndpoint(input: { url: "https://example.com/hook" }) { endpoint { id } }
}`;

/** The two ways in: a real socket, and a call in this process. Faults must look alike on both. */
const waysIn: [string, (mock: MockServer) => typeof fetch][] = [
  ["over a socket", (mock) => (path, init) => fetch(`${mock.baseUrl}${path}`, init)],
  ["in this process", (mock) => (path, init) => mock.fetch(path as string, init)],
];

describe.each(waysIn)("a fault met %s", (_, wayInto) => {
  const setUp = async (...instructions: ApiFault[]) => {
    const mock = await createMockServer({ clock: "virtual" });
    const token = await workspaceToken(mock);
    await mock.control.setFaults({ api: [{ operation: "createWebhookEndpoint", instructions }] });
    const send = (init: RequestInit = {}) =>
      wayInto(mock)("/graphql", {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify({ query: createDocument }),
        ...init,
      });
    const effects = async () => (await mock.control.getSnapshot()).state.endpoints.length;
    return { mock, send, effects, [Symbol.asyncDispose]: () => mock.close() };
  };

  test("that cuts the connection before the effect leaves none", async () => {
    await using call = await setUp({ kind: "reset-before-effect" });
    await expect(call.send()).rejects.toThrow(TypeError);
    expect(await call.effects()).toBe(0);
    expect((await call.send()).status).toBe(200);
  });

  test("that cuts it after the effect leaves the caller in doubt", async () => {
    await using call = await setUp({ kind: "reset-after-effect" });
    await expect(call.send()).rejects.toThrow(TypeError);
    expect(await call.effects()).toBe(1);
  });

  test("that truncates the answer breaks its body, not its head", async () => {
    await using call = await setUp({ kind: "truncate", bytes: 10 });
    const response = await call.send();
    expect(response.status).toBe(200);
    const reader = response.body?.getReader();
    const part = await reader?.read();
    expect(new TextDecoder().decode(part?.value)).toHaveLength(10);
    await expect(reader?.read()).rejects.toThrow();
    expect(await call.effects()).toBe(1);
  });

  test("that stalls sends the head and never the body", async () => {
    await using call = await setUp({ kind: "stall" });
    const response = await call.send();
    expect(response.status).toBe(200);
    let ended = false;
    const body = response.body?.getReader();
    const reading = body?.read().finally(() => {
      ended = true;
    });
    // A whole second request fits in while the first still waits.
    expect((await call.send()).status).toBe(200);
    expect(ended).toBe(false);
    await Promise.all([body?.cancel(), reading]);
  });

  test("that delays answers when the mock's clock says so", async () => {
    await using call = await setUp({ kind: "delay", delayMs: 5_000 });
    let answered = false;
    const sending = call.send().finally(() => {
      answered = true;
    });
    await expect
      .poll(async () => (await call.mock.control.getClock()).pendingTimers, { interval: 1 })
      .toBe(1);
    await call.mock.clock.advance(4_999);
    expect(answered).toBe(false);
    await call.mock.clock.advance(1);
    expect((await sending).status).toBe(200);
  });

  test("that delays does not outlive a reset", async () => {
    await using call = await setUp({ kind: "delay", delayMs: 5_000 });
    const sending = call.send();
    await expect
      .poll(async () => (await call.mock.control.getClock()).pendingTimers, { interval: 1 })
      .toBe(1);
    await call.mock.control.reset();
    await sending;
    expect((await call.mock.control.getClock()).pendingTimers).toBe(0);
  });

  test("that answers with a proxy's page, a status or an error does so without the effect", async () => {
    await using call = await setUp(
      { kind: "html" },
      { kind: "status", status: 503, retryAfterSeconds: 7 },
      { kind: "graphql-error", message: "Try again", code: "INTERNAL_SERVER_ERROR" },
    );
    const page = await call.send();
    expect([page.status, page.headers.get("content-type")]).toEqual([502, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain("<html>");
    const busy = await call.send();
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([503, "7"]);
    expect(await (await call.send()).json()).toEqual({
      data: null,
      errors: [{ message: "Try again", extensions: { code: "INTERNAL_SERVER_ERROR" } }],
    });
    expect(await call.effects()).toBe(0);
  });

  test("that ends the token ends it for all later calls too", async () => {
    await using call = await setUp({ kind: "expire-token" });
    for (let times = 0; times < 2; times++) {
      expect(await (await call.send()).json()).toMatchObject({
        errors: [{ message: "Unauthorized", extensions: { code: "UNAUTHENTICATED" } }],
      });
    }
    expect(await call.effects()).toBe(0);
    const fresh = { authorization: `Bearer ${await workspaceToken(call.mock)}` };
    const headers = { "content-type": "application/json", ...fresh };
    expect(await (await call.send({ headers })).json()).not.toHaveProperty("errors");
  });

  test("that burns the quota makes the very call the one too many", async () => {
    await using call = await setUp({ kind: "burn-quota" });
    const refused = await call.send();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    await call.mock.clock.advance("60s");
    expect((await call.send()).status).toBe(200);
  });

  test("stands in the journal and in the log of what fired", async () => {
    await using call = await setUp({ kind: "reset-after-effect" });
    await call.send().catch(() => undefined);
    expect((await call.mock.control.listRequests()).data.at(-1)).toMatchObject({
      operations: ["createWebhookEndpoint"],
      status: null,
      faults: ["reset-after-effect"],
    });
    expect((await call.mock.control.getFaults()).fired).toMatchObject([
      { side: "api", subject: "createWebhookEndpoint", fault: { kind: "reset-after-effect" } },
    ]);
  });
});

test("without faults the same calls all succeed", async () => {
  await using mock = await createMockServer();
  for (const [, wayInto] of waysIn) {
    const response = await wayInto(mock)("/graphql", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${await workspaceToken(mock)}` },
      body: JSON.stringify({ query: createDocument }),
    });
    expect(await response.json()).not.toHaveProperty("errors");
  }
  await mock.control.createEndpoint({ url: "https://example.com/hook" });
  expect((await mock.control.getSnapshot()).state.endpoints).toHaveLength(3);
  expect((await mock.control.getFaults()).fired).toEqual([]);
});
