// The kit's receiver under attack, over real sockets. The requests are those of check-receiver; this file adds what
// check-receiver cannot see: store calls, rows, logs, the clock, faults of the store, and the way it is mounted.

import { createServer } from "node:http";
import { inspect } from "node:util";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import express from "express";
import express4 from "express4";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { auditChecks } from "../../../mock-server/tools/check-receiver/checks/catalog.ts";
import { isAcknowledged } from "../../../mock-server/tools/check-receiver/checks/probe-check.ts";
import type { AuditResult } from "../../../mock-server/tools/check-receiver/report.ts";
import { runChecks } from "../../../mock-server/tools/check-receiver/run-checks.ts";
import {
  createTarget,
  resolveAuditOptions,
  type Target,
} from "../../../mock-server/tools/check-receiver/target/target.ts";
import { deferred } from "../../../sdk/kernel/deferred.ts";
import { listen } from "../../support/listen.ts";
import {
  chunkedBytes,
  deliveryBytes,
  nextId,
  RawConnection,
  type RawDelivery,
  type RawResponse,
  sendRaw,
} from "../../support/raw-http.ts";
import { completedEvent, sampleEvent } from "../../support/sample-event.ts";
import { secretX } from "../../support/signed-delivery.ts";
import { bodyBytesMax, InstrumentedReceiver, instrumentedSecrets } from "./instrumented-receiver.ts";

const json = (event: object) => JSON.stringify(event);

function send(to: { readonly port: number }, delivery: RawDelivery | Buffer = {}): Promise<RawResponse> {
  return sendRaw(to.port, Buffer.isBuffer(delivery) ? delivery : deliveryBytes(delivery));
}

async function statusOf(to: { readonly port: number }, delivery?: RawDelivery | Buffer): Promise<number> {
  return (await send(to, delivery)).status;
}

describe("a receiver under all checks of check-receiver", () => {
  let receiver: InstrumentedReceiver;
  let target: Target;
  let results: readonly AuditResult[];
  const insertedIds = new Set<string>();

  beforeAll(async () => {
    receiver = await InstrumentedReceiver.start({ limits: { bodyTimeoutMs: 5_000 } });
    receiver.faults.insert = (row) => {
      insertedIds.add(row.id);
      return receiver.inbox.insert(row);
    };
    const url = `http://127.0.0.1:${receiver.port}/webhooks`;
    const [secret, oldSecret] = instrumentedSecrets;
    const options = resolveAuditOptions({
      url,
      secret,
      oldSecret,
      timeoutMs: 30_000,
      stallTimeoutMs: 30_000,
    });
    const clock = { ...options.clock, now: receiver.clock.now };
    target = createTarget({ ...options, clock });
    ({ results } = await runChecks(target, auditChecks));
    await receiver.settled();
  }, 120_000);
  afterAll(() => receiver[Symbol.asyncDispose]());

  const acknowledged = () => target.transcript.filter(({ result }) => isAcknowledged(result));

  it("every check passes", () => {
    expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
  });

  it("a rejected request never reaches the inbox", async () => {
    const ids = new Set(acknowledged().map(({ delivery }) => delivery.id));
    expect(target.transcript.length - acknowledged().length).toBeGreaterThan(80);
    expect([...insertedIds].filter((id) => !ids.has(id))).toEqual([]);
    for (const { delivery } of target.transcript) {
      const row = await receiver.inbox.get({ source: "default", id: delivery.id });
      expect(row !== undefined).toBe(ids.has(delivery.id));
    }
  });

  it("every acknowledged delivery has a row with the first body of its id, byte for byte", async () => {
    const firstBodies = new Map<string, Buffer>();
    for (const { delivery } of acknowledged()) {
      if (!firstBodies.has(delivery.id)) firstBodies.set(delivery.id, delivery.body);
    }
    expect(firstBodies.size).toBeGreaterThan(80);
    for (const [id, body] of firstBodies) {
      const row = await receiver.inbox.get({ source: "default", id });
      expect(Buffer.from(row?.body ?? []).equals(body)).toBe(true);
    }
  });

  it("every acknowledged id is handled once or quarantined", async () => {
    const { quarantined = 0 } = await receiver.settled();
    const ids = receiver.handled.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length + quarantined).toBe(new Set(acknowledged().map(({ delivery }) => delivery.id)).size);
    expect(quarantined).toBeGreaterThan(10);
  });

  it("no object prototype was changed", () => {
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("no rejection or log line has a secret, a body or a correct signature", () => {
    const text = [inspect(receiver.rejections, { depth: 10, showHidden: true }), ...receiver.log].join("\n");
    expect(text).toContain("SIGNATURE_MISMATCH");
    expect(target.reveals(text)).toBe(false);
    expect(text).not.toContain(target.canary);
    expect(text).not.toContain("audit-workspace");
    for (const { delivery } of target.transcript) {
      expect(text).not.toContain(target.sign(delivery).slice("v1,".length, 15));
    }
  });
});

describe("a receiver over raw HTTP", () => {
  let receiver: InstrumentedReceiver;
  beforeAll(async () => {
    receiver = await InstrumentedReceiver.start();
  });
  afterAll(() => receiver[Symbol.asyncDispose]());

  const asText = (edit: (request: string) => string) => () =>
    Buffer.from(edit(deliveryBytes().toString("latin1")), "latin1");

  it.each<[string, () => RawDelivery | Buffer]>([
    ["a query in the path", () => ({ path: "/webhooks?from=somewhere" })],
    [
      "a hundred other headers",
      () => ({ extraHeaders: Array.from({ length: 100 }, (_, n) => [`X-Header-${n}`, "a"] as const) }),
    ],
    ["the content encoding identity", () => ({ extraHeaders: [["Content-Encoding", "identity"]] })],
    ["chunks with extensions", () => chunkedBytes(json(sampleEvent()), ";name=value")],
    ["HTTP/1.0", asText((request) => request.replace("HTTP/1.1", "HTTP/1.0"))],
  ])("the receiver accepts a delivery with %s", async (_, delivery) => {
    expect(await statusOf(receiver, delivery())).toBe(200);
  });

  it("a sender that reads only after it has sent too much receives the 413", async () => {
    await using connection = await RawConnection.open(receiver.port);
    await connection.writeAll(deliveryBytes({ body: Buffer.alloc(bodyBytesMax * 1.5, "x") }));
    expect(await connection.statuses(1)).toEqual([413]);
  });

  it("a connection stays open after rejected requests, whether their bodies were read or not", async () => {
    await using connection = await RawConnection.open(receiver.port);
    const rejected = [{ secret: secretX }, { timestamp: "1" }, { id: "msg 1", body: "x".repeat(100_000) }];
    for (const [index, delivery] of [...rejected, {}].entries()) {
      connection.write(deliveryBytes(delivery));
      await connection.responses(index + 1);
    }
    expect(await connection.statuses(4)).toEqual([401, 401, 400, 200]);
    expect(connection.isClosed).toBe(false);
  });

  it("a flood of forged deliveries of the largest size reaches no inbox, and valid ones pass", async () => {
    await using flooded = await InstrumentedReceiver.start();
    const forged = deliveryBytes({ body: Buffer.alloc(bodyBytesMax, "x"), secret: secretX });
    const flood = Array.from({ length: 8 }, async () => {
      await using connection = await RawConnection.open(flooded.port);
      for (let sent = 1; sent <= 25; sent += 1) {
        await connection.writeAll(forged);
        expect((await connection.statuses(sent)).at(-1)).toBe(401);
      }
    });
    expect(await statusOf(flooded)).toBe(200);
    await Promise.all(flood);
    expect(flooded.inserts).toBe(1);
    expect(flooded.rejections).toHaveLength(200);
  });
});

describe("webhookMiddleware", () => {
  const type = () => true;
  const keepRaw = (request: { rawBody?: Buffer }, _: unknown, bytes: Buffer) => {
    request.rawBody = bytes;
  };
  const later = (_request: unknown, _response: unknown, next: () => void) => void setImmediate(next);
  const listener = (request: express.Request, _response: unknown, next: () => void) => {
    request.on("data", () => {});
    next();
  };
  const reader = (request: express.Request, _response: unknown, next: () => void) => {
    request.resume().on("end", next);
  };
  const mountedAfter = (before: express.RequestHandler) =>
    InstrumentedReceiver.start({}, (app, { receiver }) => {
      app.use(before);
      app.post("/webhooks", webhookMiddleware(receiver));
    });

  it.each<[string, number, express.RequestHandler]>([
    ["express.json()", 500, express.json()],
    ["express.text() for every type", 200, express.text({ type })],
    ["a middleware that reads the body", 500, reader],
    ["express.raw() for every type", 200, express.raw({ type })],
    ["express.json() that keeps rawBody", 200, express.json({ verify: keepRaw as never })],
    ["express.urlencoded(), which ignores JSON", 200, express.urlencoded()],
    ["express.json() for another type only", 200, express.json({ type: "application/other" })],
    ["a middleware that continues later", 200, later],
    ["a middleware that also listens to the body", 200, listener],
  ])("webhookMiddleware after %s responds with %i", async (_, status, before) => {
    await using subject = await mountedAfter(before);
    const [first, second] = [await send(subject), await send(subject)];
    expect([first.status, second.status]).toEqual([status, status]);
    expect(subject.inserts).toBe(status === 200 ? 2 : 0);
    if (status === 200) return;
    expect(first.body).toContain("mount the receiver before express.json()");
    expect(subject.rejections.map(({ code }) => code)).toEqual(["BODY_CONSUMED", "BODY_CONSUMED"]);
    expect(subject.log.filter((line) => line.includes("mount the receiver before"))).toHaveLength(1);
  });

  it("webhookMiddleware applies its body limit to a body that another middleware kept", async () => {
    await using subject = await mountedAfter(express.raw({ type, limit: "10mb" }));
    const large = chunkedBytes(json(sampleEvent({ padding: "x".repeat(bodyBytesMax) })));
    expect(await statusOf(subject, large)).toBe(413);
    expect(subject.inserts).toBe(0);
  });

  it("webhookMiddleware works in a router, under use(), and before a parser", async () => {
    await using subject = await InstrumentedReceiver.start({}, (app, { receiver }) => {
      const router = express.Router();
      router.post("/webhooks", webhookMiddleware(receiver));
      app.use("/used", webhookMiddleware(receiver));
      app.use(router);
      app.use(express.json());
    });
    expect(await statusOf(subject)).toBe(200);
    expect(await statusOf(subject, { path: "/used" })).toBe(200);
    expect(await statusOf(subject, { path: "/used", method: "GET" })).toBe(405);
  });

  it("webhookMiddleware works with Express 4 and with node:http", async () => {
    await using subject = await InstrumentedReceiver.start();
    const app = express4();
    app.use("/before", express4.json());
    app.post(["/webhooks", "/before"], webhookMiddleware(subject.receiver));
    await using four = await listen(createServer(app));
    await using plain = await listen(createServer(webhookMiddleware(subject.receiver)));
    expect(await statusOf(four, { path: "/before" })).toBe(500);
    for (const server of [four, plain]) {
      expect(await statusOf(server)).toBe(200);
      expect(await statusOf(server, { secret: secretX })).toBe(401);
    }
  });
});

describe("a receiver's secrets and clock", () => {
  it("a clock that steps back rejects deliveries from its future, and handles nothing twice", async () => {
    await using subject = await InstrumentedReceiver.start();
    const delivery = deliveryBytes();
    expect(await statusOf(subject, delivery)).toBe(200);
    await subject.settled();
    subject.clock.ms -= 600_000;
    expect(await statusOf(subject, delivery)).toBe(401);
    expect(subject.rejections.at(-1)?.message).toContain("is this machine's clock behind?");
    subject.clock.ms += 600_000;
    expect(await statusOf(subject, delivery)).toBe(200);
    await subject.settled();
    expect(subject.handled).toHaveLength(1);
  });

  it("an id that was purged is handled again as stale and changes no state", async () => {
    await using subject = await InstrumentedReceiver.start();
    const older = {
      id: "msg_old",
      body: json(sampleEvent({ taskId: "t1", occurredAt: "2026-03-01T09:00:00Z" })),
    };
    await send(subject, older);
    await subject.settled();
    await send(subject, { body: json(completedEvent({ taskId: "t1", occurredAt: "2026-03-01T09:00:01Z" })) });
    await subject.settled();
    subject.clock.ms += 10;
    const retention = { bodiesMs: 1, rowsMs: 1, headsMs: 1e12, unhandledBodiesMs: 1e12 };
    expect(await subject.inbox.purge(retention, 100)).toBeGreaterThanOrEqual(2);
    expect(await statusOf(subject, older)).toBe(200);
    expect(await subject.settled()).toMatchObject({ stale: 1 });
    expect(subject.handled.at(-1)).toMatchObject({ id: "msg_old", stale: true });
    expect(subject.states.get("t1")).toBe("COMPLETED");
  });
});

describe("a receiver whose connections end", () => {
  it("a sender that disconnects before the response gets a duplicate's response when it retries", async () => {
    await using subject = await InstrumentedReceiver.start();
    const [reached, proceed] = [deferred(), deferred()];
    subject.faults.insert = async (row) => {
      reached.resolve();
      await proceed.promise;
      return subject.inbox.insert(row);
    };
    const delivery = deliveryBytes();
    {
      await using connection = await RawConnection.open(subject.port);
      connection.write(delivery);
      await reached.promise;
    }
    proceed.resolve();
    await expect.poll(() => subject.handled, { interval: 1 }).toHaveLength(1);
    delete subject.faults.insert;
    expect(await statusOf(subject, delivery)).toBe(200);
    await subject.settled();
    expect(subject.handled).toHaveLength(1);
  });

  it("close() during a burst loses nothing that was acknowledged", async () => {
    await using subject = await InstrumentedReceiver.start();
    const sendBurst = () =>
      Array.from({ length: 20 }, nextId).map(async (id) => ({ id, status: await statusOf(subject, { id }) }));
    const before = await Promise.all(sendBurst());
    const during = sendBurst();
    await Promise.race(during);
    void subject.receiver.close();
    const after = await Promise.all(sendBurst());
    expect(new Set(before.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([503]));
    const responses = [...before, ...(await Promise.all(during)), ...after];
    for (const { id, status } of responses) {
      if (status !== 200) continue;
      expect(await subject.inbox.get({ source: "default", id })).toMatchObject({ id });
    }
  });
});
