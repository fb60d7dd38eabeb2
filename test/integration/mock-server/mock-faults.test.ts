import { type ApiFault, createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { apiFaultSchema, deliveryFaultSchema, type FaultPlan } from "../../../mock-server/state/fault.ts";
import { jsonPost, workspaceToken } from "../../support/mock-client.ts";

const createDocument = `mutation {
  createWebhookEndpoint(input: { url: "https://example.com/hook" }) { endpoint { id } }
}`;

/** Faults must have the same effect over a socket and in process. */
const transports: [string, (mock: MockServer) => typeof fetch][] = [
  ["over a socket", (mock) => (path, init) => fetch(`${mock.baseUrl}${path}`, init)],
  ["in process", (mock) => (path, init) => mock.fetch(path as string, init)],
];

describe.each(transports)("a fault that is injected %s", (_, transport) => {
  const setUp = async (...instructions: ApiFault[]) => {
    const mock = await createMockServer({ clock: "virtual" });
    const token = await workspaceToken(mock);
    await mock.control.setFaults({ api: [{ operation: "createWebhookEndpoint", instructions }] });
    const send = (init: RequestInit = {}) =>
      transport(mock)("/graphql", {
        ...jsonPost({ query: createDocument }, token),
        ...init,
      });
    const effects = async () => (await mock.control.getSnapshot()).state.endpoints.length;
    return { mock, send, effects, [Symbol.asyncDispose]: () => mock.close() };
  };

  it("reset-before-effect closes the connection without an effect", async () => {
    await using call = await setUp({ kind: "reset-before-effect" });
    await expect(call.send()).rejects.toThrow(TypeError);
    expect(await call.effects()).toBe(0);
    expect((await call.send()).status).toBe(200);
  });

  it("reset-after-effect closes the connection after the effect", async () => {
    await using call = await setUp({ kind: "reset-after-effect" });
    await expect(call.send()).rejects.toThrow(TypeError);
    expect(await call.effects()).toBe(1);
  });

  it("truncate shortens the body of the response and keeps its headers", async () => {
    await using call = await setUp({ kind: "truncate", bytes: 10 });
    const response = await call.send();
    expect(response.status).toBe(200);
    const reader = response.body?.getReader();
    const part = await reader?.read();
    expect(new TextDecoder().decode(part?.value)).toHaveLength(10);
    await expect(reader?.read()).rejects.toThrow();
    expect(await call.effects()).toBe(1);
  });

  it("stall sends the headers and never the body", async () => {
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

  it("delay sends the response when the mock's clock reaches the delay", async () => {
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

  it("delay ends when the mock is reset", async () => {
    await using call = await setUp({ kind: "delay", delayMs: 5_000 });
    const sending = call.send();
    await expect
      .poll(async () => (await call.mock.control.getClock()).pendingTimers, { interval: 1 })
      .toBe(1);
    await call.mock.control.reset();
    await sending;
    expect((await call.mock.control.getClock()).pendingTimers).toBe(0);
  });

  it("html, status and graphql-error respond without an effect", async () => {
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

  it("expire-token rejects this and all later requests with the token", async () => {
    await using call = await setUp({ kind: "expire-token" });
    for (let times = 0; times < 2; times++) {
      expect(await (await call.send()).json()).toMatchObject({
        errors: [{ message: "Unauthorized", extensions: { code: "UNAUTHENTICATED" } }],
      });
    }
    expect(await call.effects()).toBe(0);
    const { headers } = jsonPost({}, await workspaceToken(call.mock));
    expect(await (await call.send({ headers })).json()).not.toHaveProperty("errors");
  });

  it("burn-quota makes the same request exceed the rate limit", async () => {
    await using call = await setUp({ kind: "burn-quota" });
    const refused = await call.send();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    await call.mock.clock.advance("60s");
    expect((await call.send()).status).toBe(200);
  });

  it("is recorded in the request journal and in the fault log", async () => {
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

describe("every kind of fault", () => {
  const values = { delayMs: 1_000, status: 503, message: "no" };
  const fieldsOf = ({ shape }: { readonly shape: object }) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => name in shape));
  const sides = { api: apiFaultSchema, deliveries: deliveryFaultSchema };
  const cases = Object.entries(sides).flatMap(([side, { options }]) =>
    options.map((option) => ({ side, kind: option.shape.kind.value, fields: fieldsOf(option) })),
  );

  /** The responses of a call and the requests of two deliveries, with their times. */
  async function happensWith(faults: FaultPlan) {
    const seen: unknown[] = [];
    const url = "http://127.0.0.1:1/webhooks";
    const see = (...what: unknown[]) => seen.push([mock.clock.now(), ...what]);
    const receive = async (request: Request) => {
      see([...request.headers], await request.text());
      return new Response();
    };
    const receivers = new Map([[url, receive]]);
    await using mock = await createMockServer({ listen: false, clock: "virtual", seed: 1, receivers });
    const { id } = await mock.control.createEndpoint({ url });
    await mock.control.rotateEndpointSecret(id);
    const token = await workspaceToken(mock);
    await mock.control.setFaults(faults);
    const call = async () => {
      const response = await mock.fetch("/graphql", jsonPost({ query: "{ me { __typename } }" }, token));
      see(response.status, await response.text());
    };
    void call().catch((error) => see(String(error)));
    for (const name of ["task.running", "task.completed"])
      await mock.control.sendEvent({ name, payload: {} });
    await mock.clock.advance("1m");
    return seen;
  }

  it.each(cases)("$kind of $side has an effect, pass has none", async ({ side, kind, fields }) => {
    const seen = await happensWith({ [side]: [{ instructions: [{ kind, ...fields }] }] });
    const usual = await happensWith({});
    if (kind === "pass") expect(seen).toEqual(usual);
    else expect(seen).not.toEqual(usual);
  });
});
