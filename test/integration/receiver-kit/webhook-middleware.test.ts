// The three middlewares in an Express application, alone and together.

import { createVirtualClock, type VirtualClock } from "@workspace-tasks/mock-server";
import { ReceiverError } from "@workspace-tasks/receiver-kit";
import {
  dedupeWebhook,
  orderWebhook,
  type VerifyWebhookOptions,
  verifyWebhook,
} from "@workspace-tasks/receiver-kit/express";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { deferred } from "../../../sdk/kernel/deferred.ts";
import { serveExpress } from "../../support/express-server.ts";
import { memoryInbox } from "../../support/inbox-stores.ts";
import type { ListeningServer } from "../../support/listen.ts";
import { countStates } from "../../support/receiver-fixture.ts";
import { completedEvent, sampleEvent } from "../../support/sample-event.ts";
import { type SignedDelivery, secretA, signDelivery } from "../../support/signed-delivery.ts";
import { overrideInbox } from "../../support/wrap-inbox.ts";

const nowSeconds = 1_772_357_400;
/** A handler that does its work and responds. */
const ok = (_: unknown, response: Response) => void response.sendStatus(204);
const verify = (options: Partial<VerifyWebhookOptions> = {}) =>
  verifyWebhook({ secrets: [secretA], clock, ...options });
/** An application whose path for webhooks has these steps, and whose errors are responses with their message. */
const serve = (...steps: RequestHandler[]) =>
  serveExpress((app) => {
    app.post("/webhooks", ...steps);
    app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
      response.status(500).json({ caught: error.message });
    });
  });

let clock: VirtualClock;
let inbox: InboxStore;
let handled: string[];
let host: ListeningServer;
/** What the handler does with an event; each test may replace it. */
let handle: (request: Request, response: Response) => void | Promise<void>;

beforeEach(async () => {
  clock = createVirtualClock(nowSeconds * 1_000);
  inbox = memoryInbox({ clock });
  handled = [];
  handle = ok;
  host = await serve(
    verify(),
    dedupeWebhook({ inbox, leaseMs: 30_000 }),
    orderWebhook({ inbox, clock, waitMs: 10_000 }),
    async (request, response) => {
      handled.push(`${request.webhook?.event?.event} ${request.webhook?.id}`);
      await handle(request, response);
    },
  );
});
afterEach(() => host[Symbol.asyncDispose]());

const post = (delivery: SignedDelivery, to = host) =>
  fetch(`${to.origin}/webhooks`, { method: "POST", headers: delivery.headers, body: delivery.body });

const signed = (event: object, options: { id?: string; timestampSeconds?: number; secret?: string } = {}) =>
  signDelivery({ body: JSON.stringify(event), timestampSeconds: nowSeconds, ...options });

const rowStates = () => countStates(inbox);

describe("verifyWebhook", () => {
  it("verifyWebhook passes the verified delivery and its event to the next handler", async () => {
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
      event: { ...event, additional: {} },
      problem: undefined,
    });
  });

  it("verifyWebhook passes a genuine delivery that is not an event to the handler, with the reason", async () => {
    await using alone = await serve(verify(), ({ webhook }, response) => {
      response.json({ event: webhook?.event ?? null, problem: webhook?.problem });
    });
    const answer = await post(signDelivery({ body: "not JSON", timestampSeconds: nowSeconds }), alone);
    expect(await answer.json()).toEqual({ event: null, problem: "body is not JSON" });
  });
});

describe("dedupeWebhook", () => {
  it("dedupeWebhook runs the handler once for an id, and acknowledges its duplicates", async () => {
    const event = sampleEvent();
    const first = signed(event, { id: "msg_same" });
    const retry = signed(event, { id: "msg_same", timestampSeconds: nowSeconds + 5 });
    expect((await post(first)).status).toBe(204);
    expect((await post(retry)).status).toBe(200);
    expect((await post(first)).status).toBe(200);
    expect(handled).toEqual(["task.running msg_same"]);
    expect(await rowStates()).toEqual({ done: 1 });
  });

  it.each([
    ["answers 500", (response: Response) => void response.sendStatus(500)],
    ["answers 404", (response: Response) => void response.sendStatus(404)],
    ["throws", () => Promise.reject(new Error("handler"))],
  ])("dedupeWebhook runs the handler again at the sender's next attempt when it %s", async (_, fail) => {
    const delivery = signed(sampleEvent(), { id: "msg_again" });
    handle = (_request, response) => fail(response);
    expect((await post(delivery)).status).toBeGreaterThanOrEqual(400);
    handle = ok;
    expect((await post(delivery)).status).toBe(204);
    expect((await post(delivery)).status).toBe(200);
    expect(handled).toHaveLength(2);
  });

  it("dedupeWebhook removes what has expired until its inbox is closed", async () => {
    const dayMs = 86_400_000;
    let rounds = 0;
    const counted = overrideInbox(inbox, {
      readMarks(source) {
        rounds += 1;
        return inbox.readMarks(source);
      },
    });
    await using own = await serve(
      verify(),
      dedupeWebhook({ inbox: counted, clock, retention: { bodiesDays: 1 } }),
      ok,
    );
    expect((await post(signed(sampleEvent(), { id: "msg_old" }), own)).status).toBe(204);
    await clock.advance(2 * dayMs);
    const row = { source: "default", id: "msg_old" };
    expect(await inbox.get(row)).toMatchObject({ state: "done", body: null });
    await clock.advance(13 * dayMs);
    expect(await inbox.get(row)).toBeUndefined();
    await inbox.close();
    const roundsBefore = rounds;
    await clock.advance(dayMs);
    expect(rounds).toBe(roundsBefore);
  });

  it("dedupeWebhook returns 503 for an attempt while an earlier one is running", async () => {
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

  it("dedupeWebhook runs the handler for a later attempt once the lease of the earlier one expired", async () => {
    const running = deferred();
    handle = () => running.resolve();
    const delivery = signed(sampleEvent());
    const stuck = post(delivery).catch((error: unknown) => error);
    await running.promise;
    await clock.advance(30_000);
    handle = ok;
    expect((await post(delivery)).status).toBe(204);
    expect(handled).toHaveLength(2);
    await host[Symbol.asyncDispose]();
    expect(await stuck).toBeInstanceOf(Error);
  });

  it("dedupeWebhook records the end before the response is sent", async () => {
    const states: unknown[] = [];
    const finishInline = inbox.finishInline.bind(inbox);
    inbox.finishInline = async (...args) => {
      states.push("recorded");
      return finishInline(...args);
    };
    await post(signed(sampleEvent())).then(() => states.push("answered"));
    expect(states).toEqual(["recorded", "answered"]);
  });

  it("dedupeWebhook keeps the handler's response when the end cannot be recorded, and reports it", async () => {
    const failures: unknown[] = [];
    const outage = new ReceiverError("INBOX_UNAVAILABLE", "gone");
    const failing = overrideInbox(memoryInbox({ clock }), { finishInline: () => Promise.reject(outage) });
    const onError = (error: unknown) => failures.push(error);
    await using other = await serve(verify(), dedupeWebhook({ inbox: failing, onError }), ok);
    expect((await post(signed(sampleEvent()), other)).status).toBe(204);
    expect(failures).toEqual([outage]);
  });

  it("dedupeWebhook returns 503 while the inbox is down, and recovers without a restart", async () => {
    let down = true;
    const memory = memoryInbox({ clock });
    const open = async () => {
      if (down) throw new ReceiverError("INBOX_UNAVAILABLE", "connection refused", { retryAfterSeconds: 9 });
    };
    await using other = await serve(verify(), dedupeWebhook({ inbox: overrideInbox(memory, { open }) }), ok);
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
      const failing = overrideInbox(memoryInbox({ clock }), { [method]: refused });
      const onError = (error: unknown) => errors.push(error);
      await using other = await serve(verify(), dedupeWebhook({ inbox: failing, onError }));
      const response = await post(signed(sampleEvent()), other);
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await response.text()).not.toContain("ECONNREFUSED");
      expect(errors).toMatchObject([
        { code: "INBOX_UNAVAILABLE", cause: { message: "connect ECONNREFUSED" } },
      ]);
    },
  );

  it("dedupeWebhook acknowledges a genuine delivery that is not an event, and stores it in quarantine", async () => {
    const answer = await post(signDelivery({ body: "not JSON", timestampSeconds: nowSeconds }));
    expect(answer.status).toBe(200);
    expect(handled).toEqual([]);
    expect(await rowStates()).toEqual({ quarantined: 1 });
  });
});

describe("orderWebhook", () => {
  const running = (taskId: string, occurredAt: string) => sampleEvent({ taskId, occurredAt });
  const completed = (taskId: string, occurredAt: string) => completedEvent({ taskId, occurredAt });

  it("orderWebhook acknowledges an older event after a newer one, and does not run the handler", async () => {
    expect((await post(signed(completed("t1", "2026-03-01T09:00:00.000002Z")))).status).toBe(204);
    expect((await post(signed(running("t1", "2026-03-01T09:00:00.000001Z")))).status).toBe(200);
    expect(handled).toHaveLength(1);
    expect(await rowStates()).toEqual({ done: 2 });
  });

  it("orderWebhook passes events of other tasks and events without an order", async () => {
    await post(signed(completed("t1", "2026-03-01T09:00:01Z")));
    expect((await post(signed(running("t2", "2026-03-01T09:00:00Z")))).status).toBe(204);
    expect((await post(signed({ event: "invoice.paid" }))).status).toBe(204);
  });

  it("orderWebhook passes a retried event whose first attempt advanced the head and failed", async () => {
    const delivery = signed(completed("t1", "2026-03-01T09:00:01Z"), { id: "msg_failed" });
    handle = (_, response) => void response.sendStatus(500);
    expect((await post(delivery)).status).toBe(500);
    handle = ok;
    expect((await post(delivery)).status).toBe(204);
  });

  it("orderWebhook runs the handlers of one task in sequence, and those of another task at the same time", async () => {
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

  it("orderWebhook passes the next event of a task after waitMs when a handler never responds", async () => {
    const started = deferred();
    handle = () => started.resolve();
    const stuck = post(signed(running("t1", "2026-03-01T09:00:00Z"))).catch((error: unknown) => error);
    await started.promise;
    await clock.advance(10_000);
    handle = ok;
    expect((await post(signed(completed("t1", "2026-03-01T09:00:01Z")))).status).toBe(204);
    await host[Symbol.asyncDispose]();
    expect(await stuck).toBeInstanceOf(Error);
  });

  it("orderWebhook releases the task when the inbox fails", async () => {
    const outage = new ReceiverError("INBOX_UNAVAILABLE", "gone");
    let down = true;
    const memory = memoryInbox({ clock });
    const advanceHead: InboxStore["advanceHead"] = (options) =>
      down ? Promise.reject(outage) : memory.advanceHead(options);
    const failing = overrideInbox(memory, { advanceHead });
    await using other = await serve(verify(), orderWebhook({ inbox: failing, clock }), ok);
    const delivery = signed(running("t1", "2026-03-01T09:00:00Z"));
    expect((await post(delivery, other)).status).toBe(503);
    down = false;
    expect((await post(delivery, other)).status).toBe(204);
  });
});

it.each(["open", "beginInline", "advanceHead"] as const)(
  "dedupeWebhook and orderWebhook return 503 after acceptTimeoutMs when %s of the inbox never settles",
  async (method) => {
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const hanging = overrideInbox(memoryInbox(), { [method]: () => new Promise(() => {}) });
    const options = { inbox: hanging, acceptTimeoutMs: 30, onError };
    await using other = await serve(verify(), dedupeWebhook(options), orderWebhook(options), ok);
    const { status, headers } = await post(signed(sampleEvent()), other);
    expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
    const message = `inbox: ${method} did not return within acceptTimeoutMs (30)`;
    expect(errors).toMatchObject([{ code: "INBOX_UNAVAILABLE", message }]);
  },
);

it.each([
  ["dedupeWebhook", () => dedupeWebhook({ inbox })],
  ["orderWebhook", () => orderWebhook({ inbox })],
])("%s without verifyWebhook before it is an error of the application that says so", async (name, step) => {
  await using wrong = await serve(step(), ok);
  const answer = await post(signed(sampleEvent()), wrong);
  expect(answer.status).toBe(500);
  expect(await answer.text()).toContain(`${name}: no verified webhook`);
});
