import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import * as kit from "@workspace-tasks/receiver-kit";
import {
  dedupeWebhook,
  orderWebhook,
  verifyWebhook,
  webhookMiddleware,
} from "@workspace-tasks/receiver-kit/express";
import express from "express";
import { describe, expect, it, vi } from "vitest";
import { serveExpress } from "../../support/express-server.ts";
import { memoryInbox } from "../../support/inbox-stores.ts";
import {
  createFixtureClock,
  createReceiverFixture,
  type ReceiverFixtureOptions,
} from "../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent } from "../../support/sample-event.ts";
import { secretA, secretB, secretX, signDelivery } from "../../support/signed-delivery.ts";

const acme: kit.Tenant = { id: "acme", workspaceId: "workspace-a", secrets: [secretX, secretA] };
const bolt: kit.Tenant = { id: "bolt", workspaceId: "workspace-b", secrets: [secretB] };
const tenants = new Map([acme, bolt].map((tenant) => [`/webhooks/${tenant.id}`, tenant]));
const secrets: kit.Secrets = { byTenant: ({ path }) => tenants.get(path) };

const nowSeconds = () => Math.floor(Date.now() / 1000);

const tenantReceiver = () => kit.createReceiver({ secrets, inbox: memoryInbox(), logger: kit.silentLogger });

type SentOptions = { readonly id?: string; readonly headers?: Record<string, string> };

/** A receiver of two tenants, and deliveries to their paths. */
function tenantFixture(options: ReceiverFixtureOptions = {}) {
  const fixture = createReceiverFixture({ secrets, ...options });
  const send = async (path: string, secret: string, event: object | string, sent: SentOptions = {}) => {
    const body = typeof event === "string" ? event : JSON.stringify(event);
    const timestampSeconds = Math.floor(fixture.clock.now() / 1000);
    const delivery = signDelivery({ body, secret, timestampSeconds, ...(sent.id && { id: sent.id }) });
    const request = new Request(`https://receiver.example${path}?from=service`, {
      method: "POST",
      headers: { ...delivery.headers, ...sent.headers },
      body,
    });
    const response = await fixture.receiver.fetch(request);
    return { status: response.status, text: await response.text() };
  };
  return { ...fixture, fixture, send };
}

const eventOf = ({ workspaceId }: kit.Tenant, fields: object = {}) => sampleEvent({ workspaceId, ...fields });

describe("a receiver of many tenants", () => {
  it("tells handlers the tenant, the secret that signed, and the trace", async () => {
    const { fixture, receiver, send, clock } = tenantFixture();
    await using _ = fixture;
    const contexts: unknown[] = [];
    receiver.on("*", (_event, { source, tenant, secretIndex, traceparent, idempotencyKey }) => {
      contexts.push({ source, tenant, secretIndex, traceparent, idempotencyKey });
    });
    await receiver.start();
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const traced = { id: "msg_1", headers: { traceparent } };
    const malformed = { id: "msg_1", headers: { traceparent: traceparent.replace("00-", "0-") } };
    const responses = [
      await send("/webhooks/acme", secretA, eventOf(acme, { id: "event-1" }), traced),
      await send("/webhooks/bolt", secretB, eventOf(bolt, { id: "event-1" }), malformed),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    await clock.advance(2_000);
    expect(contexts).toEqual([
      {
        source: "default",
        tenant: "acme",
        secretIndex: 1,
        traceparent,
        idempotencyKey: "default/acme:event-1",
      },
      {
        source: "default",
        tenant: "bolt",
        secretIndex: 0,
        traceparent: undefined,
        idempotencyKey: "default/bolt:event-1",
      },
    ]);
  });

  it("keeps ids and order per tenant: one cannot suppress the events of another", async () => {
    const { fixture, receiver, send, clock } = tenantFixture();
    await using _ = fixture;
    const states: string[] = [];
    receiver.onState("task", ({ status }, { tenant }) => void states.push(`${tenant} ${status}`));
    await receiver.start();
    const later = { taskId: "task-1", occurredAt: "2026-03-01T10:00:00Z" };
    const earlier = { taskId: "task-1", occurredAt: "2026-03-01T09:00:00Z" };
    const sameId = { id: "msg_1" };
    const completed = completedEvent({ ...later, workspaceId: acme.workspaceId });
    await send("/webhooks/acme", secretA, completed, sameId);
    await clock.advance(2_000);
    await send("/webhooks/bolt", secretB, eventOf(bolt, earlier), sameId);
    await clock.advance(2_000);
    expect(states).toEqual(["acme COMPLETED", "bolt RUNNING"]);
  });

  it("rejects an event of another tenant's workspace with 403, usable or not, and stores nothing", async () => {
    const { fixture, send, inbox, log } = tenantFixture();
    await using _ = fixture;
    const forged = [eventOf(bolt), { event: "task.running", workspaceId: bolt.workspaceId }];
    for (const event of forged) {
      expect(await send("/webhooks/acme", secretA, event)).toMatchObject({ status: 403 });
    }
    expect(await inbox.list({})).toEqual([]);
    expect(log.map(({ fields }) => fields)).toEqual([
      { code: "WORKSPACE_MISMATCH", status: 403, requests: 1 },
    ]);
    expect(await send("/webhooks/acme", secretA, "not json")).toMatchObject({ status: 200 });
    expect(await inbox.list({})).toMatchObject([{ source: "default/acme", state: "quarantined" }]);
  });

  it("quarantines an event that names no workspace, also when it is replayed", async () => {
    const { fixture, receiver, send, inbox, clock } = tenantFixture();
    await using _ = fixture;
    const handled: unknown[] = [];
    receiver.on("*", (event) => void handled.push(event));
    const { workspaceId, ...without } = eventOf(acme);
    for (const event of [without, { ...without, workspaceId: null, id: "event-2" }])
      expect(await send("/webhooks/acme", secretA, event, { id: `msg_${event["id"]}` })).toMatchObject({
        status: 200,
      });
    await clock.advance(2 * 3_600_000);
    const rows = await inbox.list({});
    expect(rows.map(({ state }) => state)).toEqual(["quarantined", "quarantined"]);
    expect(rows[0]?.lastError).toBe("workspaceId: expected the workspace of the tenant, got none");
    expect(await receiver.replay("msg_event-2", { tenant: "acme" })).toBe("not-replayable");
    expect(handled).toEqual([]);
  });

  it("answers an unknown tenant like a wrong signature", async () => {
    const { fixture, send } = tenantFixture();
    await using _ = fixture;
    const unknown = await send("/webhooks/nowhere", secretA, eventOf(acme));
    const wrong = await send("/webhooks/acme", secretB, eventOf(acme));
    expect(unknown).toEqual(wrong);
    expect(unknown.status).toBe(401);
  });

  const hangs = () => new Promise<never>(() => {});
  const faults: [string, () => unknown, RegExp][] = [
    ["throws", () => JSON.parse("{"), /the function failed/],
    ["rejects", () => Promise.reject(new Error("store is down")), /the function failed/],
    ["never resolves", hangs, /the function did not resolve within 5000 ms/],
    ["returns a list", () => [secretA], /expected an object, got an array/],
    ["returns a malformed secret", () => ({ ...acme, secrets: ["whsec_a"] }), /secrets\[0\]/],
    ["returns a malformed id", () => ({ ...acme, id: "a/b" }), /id: expected 1 to 64 of/],
    ["returns an unknown field", () => ({ ...acme, secret: secretA }), /did you mean secrets\?/],
  ];

  it.each(faults)(
    "responds 503, logs and stores nothing when byTenant %s",
    async (_name, resolve, message) => {
      const { fixture, send, clock, inbox, log } = tenantFixture({
        secrets: { byTenant: resolve as () => kit.Tenant },
      });
      await using _ = fixture;
      const responses = [1, 2].map(() => send("/webhooks/acme", secretA, eventOf(acme)));
      await clock.advance(5_000);
      expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([503, 503]);
      expect(await inbox.list({})).toEqual([]);
      expect(log).toMatchObject([{ level: "error", message: expect.stringMatching(message) }]);
      expect(JSON.stringify(log)).not.toContain(secretA);
      await clock.advance(600_000);
      const later = send("/webhooks/acme", secretA, eventOf(acme));
      await clock.advance(5_000);
      await later;
      expect(log).toMatchObject([{ fields: { requests: 1 } }, { fields: { requests: 2 } }]);
    },
  );

  it("responds 503 at once when 256 calls of byTenant wait, so that bodies cannot pile up", async () => {
    let calls = 0;
    const byTenant = () => {
      calls += 1;
      return hangs();
    };
    const { fixture, send, clock } = tenantFixture({ secrets: { byTenant } });
    await using _ = fixture;
    const waiting = Array.from({ length: 256 }, () => send("/webhooks/acme", secretA, eventOf(acme)));
    await clock.settle();
    expect(await send("/webhooks/acme", secretA, eventOf(acme))).toMatchObject({ status: 503 });
    expect(calls).toBe(256);
    await clock.advance(5_000);
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([503]));
    const later = send("/webhooks/acme", secretA, eventOf(acme));
    await clock.advance(5_000);
    await later;
    expect(calls).toBe(257);
  });

  it("serves tenants with due events in turn, and what it stored before it had tenants", async () => {
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    const before = createReceiverFixture({ clock, inbox });
    await before.deliver(sampleEvent(), "msg_before");
    const { fixture, receiver, send } = tenantFixture({ clock, inbox, concurrency: 1 });
    await using _ = fixture;
    for (const n of [1, 2, 3]) await send("/webhooks/acme", secretA, eventOf(acme), { id: `msg_${n}` });
    for (const n of [1, 2]) await send("/webhooks/bolt", secretB, eventOf(bolt), { id: `msg_${n}` });
    const handled: string[] = [];
    receiver.on("*", (_event, { tenant = "none", id }) => void handled.push(`${tenant} ${id}`));
    await receiver.start();
    await clock.advance(2_000);
    expect(handled).toEqual([
      ...["none msg_before", "acme msg_1", "bolt msg_1", "acme msg_2", "acme msg_3", "bolt msg_2"],
    ]);
  });

  it("handles the events of the others while a tenant's handlers hang and its backlog is long", async () => {
    const { fixture, receiver, send, clock } = tenantFixture({ concurrency: 4, backlogMax: 200 });
    await using _ = fixture;
    const handled: string[] = [];
    receiver.on("*", async (_event, { tenant, id, signal }) => {
      handled.push(`${tenant} ${id}`);
      if (tenant === "acme")
        await new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
    });
    for (let n = 0; n < 200; n++) await send("/webhooks/acme", secretA, eventOf(acme), { id: `msg_${n}` });
    expect(await send("/webhooks/acme", secretA, eventOf(acme))).toMatchObject({ status: 429 });
    await receiver.start();
    await clock.advance(1_000);
    expect(handled).toEqual(["acme msg_0", "acme msg_1"]);
    expect((await send("/webhooks/bolt", secretB, eventOf(bolt), { id: "msg_b" })).status).toBe(200);
    await clock.advance(1_000);
    expect(handled).toContain("bolt msg_b");
  });

  it("replays and reconciles per tenant, with a client of its workspace only", async () => {
    const { fixture, receiver, send, clock, inbox } = tenantFixture();
    await using _ = fixture;
    const states: string[] = [];
    receiver.onState("task", ({ taskId, status, workspaceId }, { tenant, secretIndex }) => {
      states.push(`${tenant} ${workspaceId} ${taskId} ${status} ${secretIndex}`);
    });
    await receiver.start();
    await send("/webhooks/acme", secretA, eventOf(acme, { taskId: "task-1" }), { id: "msg_1" });
    await send("/webhooks/bolt", secretB, eventOf(bolt, { taskId: "task-1" }), { id: "msg_1" });
    await clock.advance(2_000);
    const task = { id: "task-1", type: "TAX_PREP", status: "COMPLETED", subTasks: [] };
    const asked: (readonly string[] | undefined)[] = [];
    const client = {
      me: async () => ({ workspace: { id: acme.workspaceId } }),
      tasks: {
        async *list({ ids }: { readonly ids?: readonly string[] }) {
          asked.push(ids);
          yield { ...task, startedAt: "2026-03-01T09:30:00Z", completedAt: "2026-03-01T10:00:00Z" };
        },
      },
    };
    const invalid = { code: "ARGUMENT_INVALID" };
    await expect(receiver.reconcile(client)).rejects.toMatchObject(invalid);
    await expect(receiver.reconcile(client, { tenant: bolt })).rejects.toMatchObject({
      ...invalid,
      message: "reconcile: expected a client of the workspace of tenant bolt, got one of another workspace",
    });
    states.length = 0;
    await receiver.reconcile(client, { tenant: acme, runningForMs: 0 });
    await clock.advance(2_000);
    expect(states).toEqual(["acme workspace-a task-1 COMPLETED undefined"]);
    await expect(receiver.replay("msg_1")).rejects.toMatchObject(invalid);
    await expect(receiver.replay("msg_1", { tenant: "a/b" })).rejects.toMatchObject(invalid);
    expect(await receiver.replay("msg_1", { tenant: "nowhere" })).toBe("not-found");
    expect(await receiver.replay("msg_1", { tenant: "bolt" })).toBe("replayed");
    await clock.advance(2_000);
    const rowOf = (tenant: string) => inbox.get({ source: `default/${tenant}`, id: "msg_1" });
    expect(await rowOf("bolt")).toMatchObject({ replays: 1, state: "done" });
    expect(await rowOf("acme")).toMatchObject({ replays: 0 });
  });
});

describe("the secrets option", () => {
  it("passes the path in front of a router, and headers in any case, to its function", async () => {
    const requests: { path: string; tenant: string | undefined }[] = [];
    const noting = ({ path, headers }: kit.SecretsRequest) => {
      requests.push({ path, tenant: headers.get("X-Tenant") });
      return [secretA];
    };
    const receiver = kit.createReceiver({ inbox: memoryInbox(), secrets: noting, logger: kit.silentLogger });
    await using _ = receiver;
    await using host = await serveExpress((app) => {
      const router = express.Router();
      router.post("/:tenant", webhookMiddleware(receiver));
      router.post("/composed/:tenant", verifyWebhook({ secrets: noting }), (_request, response) => {
        response.sendStatus(204);
      });
      app.use("/in", router);
    });
    const post = (path: string, extra: Record<string, string> = {}) => {
      const body = JSON.stringify(sampleEvent());
      const { headers } = signDelivery({ body, timestampSeconds: nowSeconds() });
      return fetch(host.origin + path, { method: "POST", headers: { ...headers, ...extra }, body });
    };
    expect((await post("/in/acme%20x?b=/c", { "x-TENANT": "a" })).status).toBe(200);
    expect((await post("/in/composed/bolt")).status).toBe(204);
    expect(requests).toEqual([
      { path: "/in/acme%20x", tenant: "a" },
      { path: "/in/composed/bolt", tenant: undefined },
    ]);
  });

  it("rejects with HEADER_REPEATED when a header that decides was sent twice", async () => {
    const receiver: kit.Receiver<unknown> = kit.createReceiver({
      inbox: memoryInbox(),
      secrets: { byTenant: ({ headers }) => (headers.get("x-tenant") === "acme" ? acme : undefined) },
    });
    const delivery = signDelivery({ body: JSON.stringify(eventOf(acme)), timestampSeconds: nowSeconds() });
    const flat = Object.entries(delivery.headers).flat();
    const verify = (extra: readonly string[]) => receiver.verifier.verify(delivery.body, [...flat, ...extra]);
    await expect(verify(["x-tenant", "acme"])).resolves.toMatchObject({
      secretIndex: 1,
      tenant: { id: "acme", workspaceId: "workspace-a" },
    });
    await expect(verify(["x-tenant", "acme", "X-Tenant", "bolt"])).rejects.toMatchObject({
      code: "HEADER_REPEATED",
    });
    await expect(verify([])).rejects.toMatchObject({ code: "TENANT_UNKNOWN", status: 401 });
  });

  it("hashes the body for an unknown tenant, too, so that the time of the response does not show who is a customer", async () => {
    const hashed = vi.spyOn(crypto, "createHmac");
    syncBuiltinESMExports();
    try {
      const receiver = tenantReceiver();
      const counts: number[] = [];
      for (const path of ["/webhooks/bolt", "/webhooks/stranger"]) {
        const { headers, body } = signDelivery({
          body: "{}",
          secret: secretX,
          timestampSeconds: nowSeconds(),
        });
        hashed.mockClear();
        const request = new Request(`https://receiver.example${path}`, { method: "POST", headers, body });
        expect((await receiver.fetch(request)).status).toBe(401);
        counts.push(hashed.mock.calls.length);
      }
      expect(counts).toEqual([1, 1]);
    } finally {
      hashed.mockRestore();
      syncBuiltinESMExports();
    }
  });

  it("has at most 16 secrets in a list, so that a forged request costs at most 16 hashes", () => {
    const create = (length: number) =>
      kit.createReceiver({ inbox: memoryInbox(), secrets: Array.from({ length }, () => secretA) });
    expect(() => create(16)).not.toThrow();
    expect(() => create(17)).toThrow(/at most 16 secrets, got 17; for many tenants use \{ byTenant \}/);
  });
});

describe("the composable middlewares with tenants", () => {
  it("keep ids and order per tenant, and reject an event of another workspace", async () => {
    const inbox = memoryInbox();
    const handled: string[] = [];
    const rejected: string[] = [];
    await using host = await serveExpress((app) => {
      app.post(
        "/webhooks/:tenant",
        verifyWebhook({ secrets, onRejected: ({ code }) => void rejected.push(code) }),
        dedupeWebhook({ inbox }),
        orderWebhook({ inbox }),
        ({ webhook }, response) => {
          handled.push(`${webhook?.tenant?.id} ${webhook?.id} ${webhook?.secretIndex}`);
          response.sendStatus(204);
        },
      );
    });
    const post = async (tenant: kit.Tenant, secret: string, event: object) => {
      const body = JSON.stringify(event);
      const { headers } = signDelivery({ body, secret, id: "msg_1", timestampSeconds: nowSeconds() });
      return (await fetch(`${host.origin}/webhooks/${tenant.id}`, { method: "POST", headers, body })).status;
    };
    const task = { taskId: "task-1" };
    const later = eventOf(acme, { ...task, occurredAt: "2026-03-02T09:30:00Z" });
    expect(await post(acme, secretA, later)).toBe(204);
    expect(await post(bolt, secretB, eventOf(bolt, task))).toBe(204);
    expect(await post(bolt, secretB, eventOf(bolt, task))).toBe(200);
    expect(await post(acme, secretA, eventOf(bolt))).toBe(403);
    expect(handled).toEqual(["acme msg_1 1", "bolt msg_1 0"]);
    expect(rejected).toEqual(["WORKSPACE_MISMATCH"]);
  });
});
