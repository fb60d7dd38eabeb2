// The three middlewares in an Express application, alone and together.

import type { NextFunction, Request, Response } from "express";
import express from "express";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createVirtualClock, type VirtualClock } from "workspace-tasks/mock-server";
import { ReceiverError } from "workspace-tasks/receiver-kit";
import { dedupeWebhook, orderWebhook, verifyWebhook } from "workspace-tasks/receiver-kit/express";
import type { Inbox } from "../../receiver-kit/inbox/inbox.ts";
import { memoryInbox } from "../../receiver-kit/inbox/memory/memory-inbox.ts";
import { deferred } from "../support/deferred.ts";
import { serveExpress } from "../support/express-server.ts";
import type { ListeningServer } from "../support/listen.ts";
import { completedEvent, sampleEvent } from "../support/sample-event.ts";
import { type SignedDelivery, secretA, secretX, signDelivery } from "../support/signed-delivery.ts";
import { overrideInbox } from "../support/wrap-inbox.ts";

const nowSeconds = 1_772_357_400;

let clock: VirtualClock;
let inbox: Inbox;
let handled: string[];
let host: ListeningServer;
/** What the handler does with an event; each test may replace it. */
let handle: (request: Request, response: Response) => void | Promise<void>;

beforeEach(async () => {
  clock = createVirtualClock(nowSeconds * 1_000);
  inbox = memoryInbox({ clock });
  handled = [];
  handle = (_, response) => void response.sendStatus(204);
  host = await serveExpress((app) => {
    app.post(
      "/webhooks",
      verifyWebhook({ secrets: [secretA], clock }),
      dedupeWebhook({ inbox, leaseMs: 30_000 }),
      orderWebhook({ inbox, clock, waitMs: 10_000 }),
      async (request, response) => {
        handled.push(`${request.webhook?.event?.event} ${request.webhook?.id}`);
        await handle(request, response);
      },
    );
    app.use((_error: Error, _request: Request, response: Response, _next: NextFunction) => {
      response.status(500).json({ error: "application" });
    });
  });
});
afterEach(() => host[Symbol.asyncDispose]());

const post = (delivery: SignedDelivery, to = host) =>
  fetch(`${to.origin}/webhooks`, { method: "POST", headers: delivery.headers, body: delivery.body });

const signed = (event: object, options: { id?: string; timestampSeconds?: number; secret?: string } = {}) =>
  signDelivery({ body: JSON.stringify(event), timestampSeconds: nowSeconds, ...options });

async function rowStates(): Promise<Record<string, number>> {
  const { rows } = await inbox.stats();
  return Object.fromEntries(Object.entries(rows).filter(([, count]) => count > 0));
}

describe("verifyWebhook", () => {
  it("passes the verified delivery and its event to the next handler", async () => {
    let seen: unknown;
    handle = (request, response) => {
      seen = request.webhook;
      response.sendStatus(204);
    };
    const event = sampleEvent();
    const delivery = signed(event);
    expect((await post(delivery)).status).toBe(204);
    expect(seen).toEqual({
      id: delivery.id,
      timestamp: nowSeconds,
      body: delivery.body,
      secretIndex: 0,
      event,
      problem: undefined,
    });
  });

  it("rejects a forged delivery without a row and without calling the handler", async () => {
    const answer = await post(signed(sampleEvent(), { secret: secretX }));
    expect(answer.status).toBe(401);
    expect(handled).toEqual([]);
    expect(await rowStates()).toEqual({});
  });

  it("passes a genuine delivery that is not an event to the handler, with the reason", async () => {
    await using alone = await serveExpress((app) =>
      app.post("/webhooks", verifyWebhook({ secrets: [secretA], clock }), (request, response) => {
        response.json({ event: request.webhook?.event ?? null, problem: request.webhook?.problem });
      }),
    );
    const answer = await post(signDelivery({ body: "not JSON", timestampSeconds: nowSeconds }), alone);
    expect(await answer.json()).toEqual({ event: null, problem: "body is not JSON" });
  });

  it("calls onRejected for each rejected request", async () => {
    const codes: string[] = [];
    await using alone = await serveExpress((app) =>
      app.post(
        "/webhooks",
        verifyWebhook({ secrets: [secretA], clock, onRejected: ({ code }) => codes.push(code) }),
      ),
    );
    await post(signed(sampleEvent(), { secret: secretX }), alone);
    expect(codes).toEqual(["SIGNATURE_MISMATCH"]);
  });

  it("applies its own body limit", async () => {
    await using alone = await serveExpress((app) =>
      app.post("/webhooks", verifyWebhook({ secrets: [secretA], clock, limits: { bodyBytesMax: 100 } })),
    );
    expect((await post(signed(sampleEvent()), alone)).status).toBe(413);
  });

  it("passes an error of a later handler to Express", async () => {
    await using failing = await serveExpress((app) => {
      app.post("/webhooks", verifyWebhook({ secrets: [secretA], clock }), () => {
        throw new Error("handler");
      });
      app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
        response.status(500).json({ caught: error.message });
      });
    });
    expect(await (await post(signed(sampleEvent()), failing)).json()).toEqual({ caught: "handler" });
  });
});

describe("dedupeWebhook", () => {
  it("runs the handler once for an id, and acknowledges its duplicates", async () => {
    const event = sampleEvent();
    const first = signed(event, { id: "msg_same" });
    const retry = signed(event, { id: "msg_same", timestampSeconds: nowSeconds + 5 });
    expect((await post(first)).status).toBe(204);
    expect((await post(retry)).status).toBe(200);
    expect((await post(first)).status).toBe(200);
    expect(handled).toEqual(["task.running msg_same"]);
    expect(await rowStates()).toEqual({ done: 1 });
  });

  it("control: without dedupeWebhook every duplicate runs the handler", async () => {
    let runs = 0;
    await using bare = await serveExpress((app) =>
      app.post("/webhooks", verifyWebhook({ secrets: [secretA], clock }), (_, response) => {
        runs += 1;
        response.sendStatus(204);
      }),
    );
    const delivery = signed(sampleEvent());
    await post(delivery, bare);
    await post(delivery, bare);
    expect(runs).toBe(2);
  });

  it.each([
    ["answers 500", (response: Response) => void response.sendStatus(500)],
    ["answers 404", (response: Response) => void response.sendStatus(404)],
    ["throws", () => Promise.reject(new Error("handler"))],
  ])("runs the handler again at the sender's next attempt when it %s", async (_, fail) => {
    const delivery = signed(sampleEvent(), { id: "msg_again" });
    handle = (_request, response) => fail(response);
    expect((await post(delivery)).status).toBeGreaterThanOrEqual(400);
    handle = (_request, response) => void response.sendStatus(204);
    expect((await post(delivery)).status).toBe(204);
    expect((await post(delivery)).status).toBe(200);
    expect(handled).toHaveLength(2);
  });

  it("returns 503 for an attempt while an earlier one is running", async () => {
    const running = deferred();
    const finish = deferred();
    handle = async (_, response) => {
      running.resolve();
      await finish.promise;
      response.sendStatus(204);
    };
    const delivery = signed(sampleEvent());
    const first = post(delivery);
    await running.promise;
    const second = await post(delivery);
    expect(second.status).toBe(503);
    expect(second.headers.get("retry-after")).toBe("30");
    finish.resolve();
    expect((await first).status).toBe(204);
    expect(handled).toHaveLength(1);
  });

  it("runs the handler for a later attempt once the lease of the earlier one expired", async () => {
    const running = deferred();
    handle = () => running.resolve();
    const delivery = signed(sampleEvent());
    const stuck = post(delivery).catch((error: unknown) => error);
    await running.promise;
    await clock.advance(30_000);
    handle = (_, response) => void response.sendStatus(204);
    expect((await post(delivery)).status).toBe(204);
    expect(handled).toHaveLength(2);
    await host[Symbol.asyncDispose]();
    expect(await stuck).toBeInstanceOf(Error);
  });

  it("records the end before the response is sent", async () => {
    const states: unknown[] = [];
    const finishInline = inbox.finishInline.bind(inbox);
    inbox.finishInline = async (...args) => {
      states.push("recorded");
      return finishInline(...args);
    };
    await post(signed(sampleEvent())).then(() => states.push("answered"));
    expect(states).toEqual(["recorded", "answered"]);
  });

  it("keeps the handler's response when the end cannot be recorded, and reports it", async () => {
    const failures: unknown[] = [];
    const outage = new ReceiverError("INBOX_UNAVAILABLE", "gone");
    const failing = overrideInbox(memoryInbox({ clock }), { finishInline: () => Promise.reject(outage) });
    await using other = await serveExpress((app) =>
      app.post(
        "/webhooks",
        verifyWebhook({ secrets: [secretA], clock }),
        dedupeWebhook({
          inbox: failing,
          onError: (error) => failures.push(error),
        }),
        (_, response) => void response.sendStatus(204),
      ),
    );
    expect((await post(signed(sampleEvent()), other)).status).toBe(204);
    expect(failures).toEqual([outage]);
  });

  it("returns 503 while the inbox is down, and recovers without a restart", async () => {
    let down = true;
    const memory = memoryInbox({ clock });
    const open = async () => {
      if (down) throw new ReceiverError("INBOX_UNAVAILABLE", "connection refused", { retryAfterSeconds: 9 });
    };
    await using other = await serveExpress((app) =>
      app.post(
        "/webhooks",
        verifyWebhook({ secrets: [secretA], clock }),
        dedupeWebhook({ inbox: overrideInbox(memory, { open }) }),
        (_, response) => void response.sendStatus(204),
      ),
    );
    const delivery = signed(sampleEvent());
    const refused = await post(delivery, other);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("9");
    expect(await refused.text()).not.toContain("connection");
    down = false;
    expect((await post(delivery, other)).status).toBe(204);
  });

  it.each(["open", "beginInline"] as const)(
    "returns 503 with Retry-After when %s fails with an error of the database driver",
    async (method) => {
      const errors: unknown[] = [];
      const refused = () => Promise.reject(new Error("connect ECONNREFUSED"));
      await using other = await serveExpress((app) =>
        app.post(
          "/webhooks",
          verifyWebhook({ secrets: [secretA], clock }),
          dedupeWebhook({
            inbox: overrideInbox(memoryInbox({ clock }), { [method]: refused }),
            onError: (error) => errors.push(error),
          }),
        ),
      );
      const response = await post(signed(sampleEvent()), other);
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await response.text()).not.toContain("ECONNREFUSED");
      expect(errors).toMatchObject([
        { code: "INBOX_UNAVAILABLE", cause: { message: "connect ECONNREFUSED" } },
      ]);
    },
  );

  it("acknowledges a genuine delivery that is not an event, and stores it in quarantine", async () => {
    const answer = await post(signDelivery({ body: "not JSON", timestampSeconds: nowSeconds }));
    expect(answer.status).toBe(200);
    expect(handled).toEqual([]);
    expect(await rowStates()).toEqual({ quarantined: 1 });
  });

  it("treats the same id from two sources as two deliveries", async () => {
    await using other = await serveExpress((app) =>
      app.post(
        "/webhooks",
        verifyWebhook({ secrets: [secretA], clock }),
        dedupeWebhook({ inbox, source: "other" }),
        (_, response) => void response.sendStatus(204),
      ),
    );
    const delivery = signed(sampleEvent());
    expect((await post(delivery)).status).toBe(204);
    expect((await post(delivery, other)).status).toBe(204);
    expect(await rowStates()).toEqual({ done: 2 });
  });
});

describe("orderWebhook", () => {
  const running = (taskId: string, occurredAt: string) => sampleEvent({ taskId, occurredAt });
  const completed = (taskId: string, occurredAt: string) => completedEvent({ taskId, occurredAt });

  it("acknowledges an older event after a newer one, and does not run the handler", async () => {
    expect((await post(signed(completed("t1", "2026-03-01T09:00:00.000002Z")))).status).toBe(204);
    expect((await post(signed(running("t1", "2026-03-01T09:00:00.000001Z")))).status).toBe(200);
    expect(handled).toHaveLength(1);
    expect(await rowStates()).toEqual({ done: 2 });
  });

  it("control: without orderWebhook an older event runs the handler and overwrites the newer state", async () => {
    let state = "";
    await using bare = await serveExpress((app) =>
      app.post("/webhooks", verifyWebhook({ secrets: [secretA], clock }), (request, response) => {
        state = String(request.webhook?.event?.["status"]);
        response.sendStatus(204);
      }),
    );
    await post(signed(completed("t1", "2026-03-01T09:00:01Z")), bare);
    await post(signed(running("t1", "2026-03-01T09:00:00Z")), bare);
    expect(state).toBe("RUNNING");
  });

  it("passes events of other tasks and events without an order", async () => {
    await post(signed(completed("t1", "2026-03-01T09:00:01Z")));
    expect((await post(signed(running("t2", "2026-03-01T09:00:00Z")))).status).toBe(204);
    expect((await post(signed({ event: "invoice.paid" }))).status).toBe(204);
  });

  it("passes a retried event whose first attempt advanced the head and failed", async () => {
    const delivery = signed(completed("t1", "2026-03-01T09:00:01Z"), { id: "msg_failed" });
    handle = (_, response) => void response.sendStatus(500);
    expect((await post(delivery)).status).toBe(500);
    handle = (_, response) => void response.sendStatus(204);
    expect((await post(delivery)).status).toBe(204);
  });

  it("runs the handlers of one task in sequence, and those of another task at the same time", async () => {
    const started = deferred();
    const finish = deferred();
    handle = async (request, response) => {
      if (request.webhook?.id === "msg_slow") {
        started.resolve();
        await finish.promise;
      }
      response.sendStatus(204);
    };
    const slow = post(signed(running("t1", "2026-03-01T09:00:00Z"), { id: "msg_slow" }));
    await started.promise;
    const next = post(signed(completed("t1", "2026-03-01T09:00:01Z"), { id: "msg_next" }));
    expect((await post(signed(running("t2", "2026-03-01T09:00:00Z"), { id: "msg_other" }))).status).toBe(204);
    expect(handled.map((entry) => entry.split(" ")[1])).toEqual(["msg_slow", "msg_other"]);
    finish.resolve();
    expect((await slow).status).toBe(204);
    expect((await next).status).toBe(204);
    expect(handled.at(-1)).toContain("msg_next");
  });

  it("passes the next event of a task after waitMs when a handler never responds", async () => {
    const started = deferred();
    handle = () => started.resolve();
    const stuck = post(signed(running("t1", "2026-03-01T09:00:00Z"))).catch((error: unknown) => error);
    await started.promise;
    await clock.advance(10_000);
    handle = (_, response) => void response.sendStatus(204);
    expect((await post(signed(completed("t1", "2026-03-01T09:00:01Z")))).status).toBe(204);
    await host[Symbol.asyncDispose]();
    expect(await stuck).toBeInstanceOf(Error);
  });

  it("releases the task when the inbox fails", async () => {
    const outage = new ReceiverError("INBOX_UNAVAILABLE", "gone");
    let down = true;
    const memory = memoryInbox({ clock });
    const advanceHead: Inbox["advanceHead"] = (options) =>
      down ? Promise.reject(outage) : memory.advanceHead(options);
    await using other = await serveExpress((app) =>
      app.post(
        "/webhooks",
        verifyWebhook({ secrets: [secretA], clock }),
        orderWebhook({ inbox: overrideInbox(memory, { advanceHead }), clock }),
        (_, response) => void response.sendStatus(204),
      ),
    );
    const delivery = signed(running("t1", "2026-03-01T09:00:00Z"));
    expect((await post(delivery, other)).status).toBe(503);
    down = false;
    expect((await post(delivery, other)).status).toBe(204);
  });
});

describe("middlewares in the wrong order", () => {
  it.each([
    ["dedupeWebhook", () => dedupeWebhook({ inbox })],
    ["orderWebhook", () => orderWebhook({ inbox })],
  ])("%s without verifyWebhook before it is an error of the application that says so", async (name, step) => {
    await using wrong = await serveExpress((app) => {
      app.post("/webhooks", step(), (_, response) => void response.sendStatus(204));
      app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
        response.status(500).json({ message: error.message });
      });
    });
    const answer = await post(signed(sampleEvent()), wrong);
    expect(answer.status).toBe(500);
    expect(await answer.text()).toContain(`${name}: no verified webhook`);
  });

  it("verifyWebhook after a body parser returns 500 and warns once", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    await using wrong = await serveExpress((app) => {
      app.use(express.json());
      app.post("/webhooks", verifyWebhook({ secrets: [secretA], clock }));
    });
    const event = signed(sampleEvent());
    const json = { ...event, headers: { ...event.headers, "content-type": "application/json" } };
    expect((await post(json, wrong)).status).toBe(500);
    expect((await post(json, wrong)).status).toBe(500);
    expect(warn).toHaveBeenCalledOnce();
    warn.mockRestore();
  });
});
