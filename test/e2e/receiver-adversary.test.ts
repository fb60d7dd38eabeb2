// The receiver under attack, over real sockets: Express, an inbox, and requests that no honest sender makes.
// Numbers are permanent. What is refused must be refused before the inbox is asked, and no answer may say more
// than its status does. The requests that one glance decides are in `adversarial-requests.ts`.

import { createServer } from "node:http";
import { inspect } from "node:util";
import express from "express";
import express4 from "express4";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createReceiver, memoryInbox, WebhookSecretError } from "workspace-tasks/receiver-kit";
import { webhookMiddleware } from "workspace-tasks/receiver-kit/express";
import {
  adversarialRequests,
  chunkedBytes,
  type DeliveryOptions,
  deliveryBytes,
  nextId,
  target,
} from "../support/adversarial-requests.ts";
import { InstrumentedReceiver } from "../support/instrumented-receiver.ts";
import { listen } from "../support/listen.ts";
import { exchange, type RawAnswer, RawConnection, requestBytes } from "../support/raw-http.ts";
import { completedEvent, sampleEvent, stageEvent } from "../support/sample-event.ts";
import { secretA, secretB, secretX, signBytes } from "../support/signed-delivery.ts";

const { nowSeconds, bodyBytesMax } = target;

/** Everything that any receiver of this file has said to a sender or to its owner. */
const said: string[] = [];

async function send(to: InstrumentedReceiver, options: DeliveryOptions | Buffer = {}): Promise<RawAnswer> {
  const bytes = Buffer.isBuffer(options) ? options : deliveryBytes(options);
  const answer = await exchange(to.port, bytes);
  said.push(inspect(answer));
  return answer;
}

const json = (event: object) => JSON.stringify(event);
const received = '{"received":true}';

function quote(to: InstrumentedReceiver): void {
  said.push(inspect(to.rejections, { depth: 10, showHidden: true }), ...to.log);
}

describe("one request", () => {
  let subject: InstrumentedReceiver;
  beforeAll(async () => {
    subject = await InstrumentedReceiver.start();
  });
  afterAll(async () => {
    quote(subject);
    await subject[Symbol.asyncDispose]();
  });

  it.each(adversarialRequests)("$number: $what, is answered $status", async ({ bytes, status, outcome }) => {
    const insertsBefore = subject.inserts;
    const rejectionsBefore = subject.rejections.length;
    const quarantinedBefore = (await subject.settled()).quarantined;

    const answer = await send(subject, bytes);

    const refusals = subject.rejections.slice(rejectionsBefore).map(({ code }) => code);
    const isStored = outcome === "accepted" || outcome === "quarantined";
    expect([answer.status, refusals]).toEqual([status, isStored || outcome === "http" ? [] : [outcome]]);
    expect(subject.inserts - insertsBefore).toBe(isStored ? 1 : 0);
    expect((await subject.settled()).quarantined - quarantinedBefore).toBe(outcome === "quarantined" ? 1 : 0);
    if (isStored) expect(answer.body).toBe(received);
    if (status === 405) expect(answer.headers["allow"]).toBe("POST");
  });

  it("1: the accepted ones were handled once each, the quarantined ones never", async () => {
    const accepted = adversarialRequests.filter(({ outcome }) => outcome === "accepted");
    await subject.settled();
    expect(subject.handled).toHaveLength(accepted.length);
  });

  it("38: half a surrogate pair and a NUL are kept byte for byte", async () => {
    const body = Buffer.from(`${json(sampleEvent({ note: "a\0b" })).slice(0, -1)},"half":"\\ud800"}`);
    const id = nextId();
    expect((await send(subject, { body, id })).status).toBe(200);
    expect(Buffer.from((await subject.inbox.get({ source: "default", id }))?.body ?? [])).toEqual(body);
  });

  it("45: keys that reach for the prototype change no prototype", () => {
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("55: HEAD is answered 405 and has no body", async () => {
    const answer = await exchange(subject.port, deliveryBytes({ method: "HEAD" }), { bodiless: true });
    expect(answer).toMatchObject({ status: 405, body: "", headers: { allow: "POST" } });
  });

  it("60: ids that differ in case only are two deliveries", async () => {
    const before = subject.handled.length;
    for (const id of ["msg_CASE", "msg_case"]) expect((await send(subject, { id })).status).toBe(200);
    await subject.settled();
    expect(subject.handled.slice(before).map(({ id }) => id)).toEqual(["msg_CASE", "msg_case"]);
  });

  it("58: a dot moved from the body into the id is refused, though the signature is right", async () => {
    const inner = json(sampleEvent());
    const [id, timestamp] = [nextId(), String(nowSeconds - 10)];
    const original = { id, timestamp, body: `${nowSeconds}.${inner}` };
    expect((await send(subject, original)).status).toBe(200);
    expect((await subject.inbox.get({ source: "default", id }))?.state).toBe("quarantined");
    const signature = signBytes(secretA, `${id}.${timestamp}.`, Buffer.from(original.body));
    const shifted = { id: `${id}.${timestamp}`, body: inner, signature: () => signature };
    expect((await send(subject, shifted)).status).toBe(400);
    expect(signBytes(secretA, `${shifted.id}.${nowSeconds}.`, Buffer.from(inner))).toBe(signature);
  });
});

describe("the connection", () => {
  it("48: a length that promises more than comes stores nothing", async () => {
    await using subject = await InstrumentedReceiver.start();
    await using connection = await RawConnection.open(subject.port);
    connection.write(deliveryBytes({ contentLength: 5000 }));
    connection.endWriting();
    const answers = await connection.closed();
    expect(answers.map(({ status }) => status)).not.toContain(200);
    expect(subject.inserts).toBe(0);
    await vi.waitFor(() => expect(subject.rejections).toMatchObject([{ code: "BODY_ABORTED" }]), {
      interval: 1,
    });
    expect((await send(subject)).status).toBe(200);
  });

  it("48b: a sender that resets the connection in the middle of the body stores nothing", async () => {
    await using subject = await InstrumentedReceiver.start();
    {
      await using connection = await RawConnection.open(subject.port);
      connection.write(deliveryBytes({ contentLength: 5000, extra: [["Expect", "100-continue"]] }));
      await connection.continued();
    }
    await vi.waitFor(() => expect(subject.rejections).toMatchObject([{ code: "BODY_ABORTED" }]), {
      interval: 1,
    });
    expect(subject.inserts).toBe(0);
  });

  it("49: an endless body in chunks is cut off with 413", async () => {
    await using subject = await InstrumentedReceiver.start();
    await using connection = await RawConnection.open(subject.port);
    connection.write(headWithoutLength());
    const chunk = Buffer.concat([Buffer.from("4000\r\n"), Buffer.alloc(0x4000, "x"), Buffer.from("\r\n")]);
    let sentBytes = 0;
    while (!connection.isClosed && sentBytes < 64 * bodyBytesMax) {
      await connection.writeAll(chunk);
      sentBytes += chunk.length;
    }
    const answers = await connection.closed();
    expect(answers.map(({ status }) => status)).toEqual([413]);
    expect(answers[0]?.headers["connection"]).toBe("close");
    expect(sentBytes).toBeLessThan(64 * bodyBytesMax);
    expect(subject.inserts).toBe(0);
  });

  it("49b: a length above the limit is refused before any body comes", async () => {
    await using subject = await InstrumentedReceiver.start();
    await using connection = await RawConnection.open(subject.port);
    connection.write(deliveryBytes({ contentLength: 1_000_000_000, sent: "" }));
    const [answer] = await connection.answers(1);
    expect(answer?.status).toBe(413);
  });

  it("49c: a sender that reads only after it has sent too much still finds the 413", async () => {
    await using subject = await InstrumentedReceiver.start();
    await using connection = await RawConnection.open(subject.port);
    await connection.writeAll(deliveryBytes({ body: Buffer.alloc(bodyBytesMax * 1.5, "x") }));
    const [answer] = await connection.answers(1);
    expect(answer?.status).toBe(413);
  });

  it.each([
    ["with a length", () => deliveryBytes({ contentLength: 5000 })],
    ["in chunks", headWithoutLength],
  ])("50: a body %s that does not come to its end in time is answered 408", async (_, head) => {
    await using subject = await InstrumentedReceiver.start({ limits: { bodyTimeoutMs: 50 } });
    await using connection = await RawConnection.open(subject.port);
    connection.write(head());
    const answers = await connection.closed();
    expect(answers.map(({ status }) => status)).toEqual([408]);
    expect(subject.rejections).toMatchObject([{ code: "BODY_TIMEOUT" }]);
    expect(subject.inserts).toBe(0);
  });

  it("51: lines that end without a carriage return are refused by the HTTP parser", async () => {
    await using subject = await InstrumentedReceiver.start();
    const bytes = deliveryBytes().toString("latin1").replaceAll("\r\n", "\n");
    expect((await send(subject, Buffer.from(bytes, "latin1"))).status).toBe(400);
    expect(subject.inserts).toBe(0);
  });

  it("80: requests in one write are answered each on its own, in order", async () => {
    await using subject = await InstrumentedReceiver.start();
    await using connection = await RawConnection.open(subject.port);
    const requests = [{}, { secret: secretX }, { headers: () => [] }, { method: "PUT" }, {}];
    connection.write(Buffer.concat(requests.map((options) => deliveryBytes(options))));
    const answers = await connection.answers(requests.length);
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 400, 405, 200]);
    expect(subject.inserts).toBe(2);
  });

  it("80b: a connection survives a refused request, read or unread", async () => {
    await using subject = await InstrumentedReceiver.start();
    await using connection = await RawConnection.open(subject.port);
    const refused = [{ secret: secretX }, { timestamp: "1" }, { id: "msg 1", body: "x".repeat(100_000) }];
    let count = 0;
    for (const options of [...refused, {}]) {
      connection.write(deliveryBytes(options));
      await connection.answers(++count);
    }
    const answers = await connection.answers(count);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 400, 200]);
    expect(connection.isClosed).toBe(false);
  });

  it("88: a body that comes byte by byte is accepted", async () => {
    await using subject = await InstrumentedReceiver.start();
    await using connection = await RawConnection.open(subject.port);
    for (const byte of deliveryBytes()) await connection.writeAll(Buffer.of(byte));
    expect((await connection.answers(1))[0]?.status).toBe(200);
  });

  it("89: a sender that waits for 100 Continue is told to go on", async () => {
    await using subject = await InstrumentedReceiver.start();
    await using connection = await RawConnection.open(subject.port);
    const bytes = deliveryBytes({ extra: [["Expect", "100-continue"]] });
    const bodyStart = bytes.indexOf("\r\n\r\n") + 4;
    connection.write(bytes.subarray(0, bodyStart));
    await connection.continued();
    connection.write(bytes.subarray(bodyStart));
    expect((await connection.answers(1))[0]?.status).toBe(200);
  });

  it("90: a sender of HTTP/1.0 is served", async () => {
    await using subject = await InstrumentedReceiver.start();
    const bytes = deliveryBytes().toString("latin1").replace("HTTP/1.1", "HTTP/1.0");
    expect((await send(subject, Buffer.from(bytes, "latin1"))).status).toBe(200);
  });
});

describe("mounting", () => {
  beforeEach(() => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const type = () => true;
  const keepRaw = (request: { rawBody?: Buffer }, _: unknown, bytes: Buffer) => {
    request.rawBody = bytes;
  };
  const later = (_request: unknown, _response: unknown, next: () => void) => void setImmediate(next);
  const watcher = (request: express.Request, _response: unknown, next: () => void) => {
    request.on("data", () => {});
    next();
  };
  const drinker = (request: express.Request, _response: unknown, next: () => void) => {
    request.resume().on("end", next);
  };

  it.each<[number: string, what: string, before: express.RequestHandler, status: number]>([
    ["56a", "express.json()", express.json(), 500],
    ["56b", "express.text() for every type", express.text({ type }), 500],
    ["56c", "a middleware that reads the body away", drinker, 500],
    ["56d", "express.raw() for every type", express.raw({ type }), 200],
    ["56e", "express.json() that keeps rawBody", express.json({ verify: keepRaw as never }), 200],
    ["56f", "express.urlencoded(), which leaves JSON alone", express.urlencoded(), 200],
    ["56g", "express.json() for another type only", express.json({ type: "application/other" }), 200],
    ["56h", "a middleware that goes on later", later, 200],
    ["56i", "a middleware that listens to the body too", watcher as never, 200],
  ])("%s: %s before the receiver is answered %4$i", async (_, _what, before, status) => {
    await using subject = await InstrumentedReceiver.start({}, (app, { receiver }) => {
      app.use(before);
      app.post("/webhooks", webhookMiddleware(receiver));
    });
    const [first, second] = [await send(subject), await send(subject)];
    expect([first.status, second.status]).toEqual([status, status]);
    expect(subject.inserts).toBe(status === 200 ? 2 : 0);
    if (status === 500) {
      expect(first.body).toContain("mount the receiver before express.json()");
      expect(subject.rejections.map(({ code }) => code)).toEqual(["BODY_CONSUMED", "BODY_CONSUMED"]);
    }
  });

  it("56j: a body kept by another middleware has the same limit, and may not be an inflated one", async () => {
    await using subject = await InstrumentedReceiver.start({}, (app, { receiver }) => {
      app.use(express.raw({ type, limit: "10mb" }));
      app.post("/webhooks", webhookMiddleware(receiver));
    });
    const large = chunkedBytes(json(sampleEvent({ padding: "x".repeat(bodyBytesMax) })));
    expect((await send(subject, large)).status).toBe(413);
    expect(subject.inserts).toBe(0);
  });

  it("56k: the mistake is put on the process's warning channel, once", async () => {
    await using subject = await InstrumentedReceiver.start({}, (app, { receiver }) => {
      app.use(express.json());
      app.post("/webhooks", webhookMiddleware(receiver));
    });
    await send(subject);
    await send(subject);
    expect(process.emitWarning).toHaveBeenCalledOnce();
    expect(process.emitWarning).toHaveBeenCalledWith(expect.stringContaining("mount the receiver before"), {
      code: "WORKSPACE_TASKS_BODY_CONSUMED",
    });
  });

  it("91: a parser after the receiver, a router, and a path of use() are no mistakes", async () => {
    await using subject = await InstrumentedReceiver.start({}, (app, { receiver }) => {
      const router = express.Router();
      router.post("/webhooks", webhookMiddleware(receiver));
      app.use("/used", webhookMiddleware(receiver));
      app.use(router);
      app.use(express.json());
    });
    expect((await send(subject)).status).toBe(200);
    expect((await send(subject, { path: "/used" })).status).toBe(200);
    expect((await send(subject, { path: "/used", method: "GET" })).status).toBe(405);
  });

  it("92: Express 4 and plain node:http do as well", async () => {
    await using subject = await InstrumentedReceiver.start();
    const app = express4();
    app.use("/before", express4.json());
    app.post(["/webhooks", "/before"], webhookMiddleware(subject.receiver));
    await using four = await listen(createServer(app));
    await using plain = await listen(createServer(webhookMiddleware(subject.receiver)));
    expect((await exchange(four.port, deliveryBytes())).status).toBe(200);
    expect((await exchange(four.port, deliveryBytes({ path: "/before" }))).status).toBe(500);
    expect((await exchange(four.port, deliveryBytes({ secret: secretX }))).status).toBe(401);
    expect((await exchange(plain.port, deliveryBytes())).status).toBe(200);
    expect((await exchange(plain.port, deliveryBytes({ secret: secretX }))).status).toBe(401);
  });
});

describe("secrets and time", () => {
  it.each([
    ["a signature version in front", `v1,${secretA}`, /remove it/],
    ["a newline at the end", `${secretA}\n`, /ends with a newline/],
    ["base64url", `whsec_${Buffer.alloc(33, 0xff).toString("base64url")}`, /base64url/],
    ["hexadecimal", `whsec_${"ab".repeat(32)}`, /hexadecimal/],
    ["one byte", "whsec_AA==", /24 to 64 bytes, got 1/],
    ["an empty key", "whsec_", /nothing follows/],
    ["a public key", `whpk_${secretA.slice(6)}`, /asymmetric/],
    ["an unset variable", undefined as never, /environment variable/],
  ])(
    "31: a secret with %s stops the receiver from being built, and says what to do",
    (_, secret, message) => {
      const build = () => createReceiver({ secrets: [secret], inbox: memoryInbox() });
      expect(build).toThrow(WebhookSecretError);
      expect(build).toThrow(message);
    },
  );

  it("28b: a secret stops verifying when it leaves the list, and a new one begins when it enters", async () => {
    let active = [secretA, secretB];
    await using subject = await InstrumentedReceiver.start({ secrets: () => active });
    expect((await send(subject, { secret: secretB })).status).toBe(200);
    active = [secretA, secretX];
    expect((await send(subject, { secret: secretB })).status).toBe(401);
    expect((await send(subject, { secret: secretX })).status).toBe(200);
    quote(subject);
  });

  it("28c: while the secrets cannot be read, deliveries are to come again", async () => {
    await using subject = await InstrumentedReceiver.start({
      secrets: () => Promise.reject(new Error("vault sealed")),
    });
    const answer = await send(subject);
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
    expect(answer.body).not.toContain("vault");
  });

  it("7: the very bytes of an accepted delivery are refused 301 s later", async () => {
    await using subject = await InstrumentedReceiver.start();
    const captured = deliveryBytes();
    expect((await send(subject, captured)).status).toBe(200);
    subject.clock.ms += 300_999;
    expect((await send(subject, captured)).status).toBe(200);
    subject.clock.ms += 1;
    expect((await send(subject, captured)).status).toBe(401);
    expect((await subject.settled()).done).toBe(1);
  });

  it("73: a clock that steps back refuses what it cannot place, and runs nothing twice", async () => {
    await using subject = await InstrumentedReceiver.start();
    const delivery = deliveryBytes();
    expect((await send(subject, delivery)).status).toBe(200);
    await subject.settled();
    subject.clock.ms -= 600_000;
    expect((await send(subject, delivery)).status).toBe(401);
    expect(subject.rejections.at(-1)?.message).toContain("is this machine's clock right?");
    subject.clock.ms += 600_000;
    expect((await send(subject, delivery)).status).toBe(200);
    await subject.settled();
    expect(subject.handled).toHaveLength(1);
  });
});

describe("repetition", () => {
  it("2: the same request twice is answered alike, byte for byte, and handled once", async () => {
    await using subject = await InstrumentedReceiver.start();
    const delivery = deliveryBytes();
    const [first, second] = [await send(subject, delivery), await send(subject, delivery)];
    const { date: firstDate, ...firstHeaders } = first.headers;
    const { date: secondDate, ...secondHeaders } = second.headers;
    expect([second.status, second.body, secondHeaders]).toEqual([first.status, first.body, firstHeaders]);
    expect(firstDate && secondDate).toBeTruthy();
    await subject.settled();
    expect(subject.handled).toHaveLength(1);
  });

  it("2b: a quarantined delivery and its repetition are answered as any other", async () => {
    await using subject = await InstrumentedReceiver.start();
    const useless = deliveryBytes({ body: "not JSON" });
    for (const answer of [await send(subject, useless), await send(subject, useless)]) {
      expect([answer.status, answer.body]).toEqual([200, received]);
    }
    expect((await subject.settled()).quarantined).toBe(1);
  });

  it("3: fifty copies at once are one row and one run, and none is answered before the row is stored", async () => {
    await using subject = await InstrumentedReceiver.start();
    let stored = false;
    const { inbox } = subject;
    subject.faults.insert = async (arrival) => {
      await new Promise((resolve) => setImmediate(resolve));
      const insertion = await inbox.insert(arrival);
      stored = true;
      return insertion;
    };
    const delivery = deliveryBytes();
    const copies = Array.from({ length: 50 }, async () => {
      const { status } = await send(subject, delivery);
      return { status, stored };
    });
    for (const copy of await Promise.all(copies)) expect(copy).toEqual({ status: 200, stored: true });
    expect((await subject.settled()).done).toBe(1);
    expect(subject.handled).toHaveLength(1);
  });

  it("3b: copies that wait for a first one that fails, fail with it, and the next attempt succeeds", async () => {
    await using subject = await InstrumentedReceiver.start();
    subject.faults.insert = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      throw new Error("disk full");
    };
    const delivery = deliveryBytes();
    const copies = await Promise.all(Array.from({ length: 10 }, () => send(subject, delivery)));
    expect(new Set(copies.map(({ status }) => status))).toEqual(new Set([503]));
    delete subject.faults.insert;
    expect((await send(subject, delivery)).status).toBe(200);
    await subject.settled();
    expect(subject.handled).toHaveLength(1);
  });

  it("4: a retry with a fresh signature 27 hours later is acknowledged and not handled again", async () => {
    await using subject = await InstrumentedReceiver.start();
    const body = json(sampleEvent());
    expect((await send(subject, { id: "msg_retried", body })).status).toBe(200);
    await subject.settled();
    subject.clock.ms += 27 * 3_600_000;
    const timestamp = String(nowSeconds + 27 * 3600);
    expect((await send(subject, { id: "msg_retried", body, timestamp })).status).toBe(200);
    await subject.settled();
    expect(subject.handled).toHaveLength(1);
  });

  it("5: another body under a known id is acknowledged, and the first one kept", async () => {
    await using subject = await InstrumentedReceiver.start();
    const first = json(sampleEvent());
    expect((await send(subject, { id: "msg_two_bodies", body: first })).status).toBe(200);
    expect((await send(subject, { id: "msg_two_bodies", body: json(completedEvent()) })).status).toBe(200);
    await subject.settled();
    expect(subject.handled).toMatchObject([{ event: "task.running" }]);
    const row = await subject.inbox.get({ source: "default", id: "msg_two_bodies" });
    expect(Buffer.from(row?.body ?? []).toString()).toBe(first);
    expect((await subject.receiver.stats()).ingest.conflicts).toBe(1);
  });

  it("6: the same id at another endpoint is another delivery", async () => {
    await using subject = await InstrumentedReceiver.start();
    const handled: string[] = [];
    const other = createReceiver({
      secrets: target.secrets,
      inbox: subject.inbox,
      source: "other",
      clock: subject.clock,
    });
    other.on("*", (_, { source }) => void handled.push(source));
    await other.start();
    await using host = await listen(createServer(webhookMiddleware(other)));
    const delivery = deliveryBytes();
    expect((await send(subject, delivery)).status).toBe(200);
    expect((await exchange(host.port, delivery)).status).toBe(200);
    await subject.settled();
    expect([subject.handled.length, handled]).toEqual([1, ["other"]]);
    await other.close();
  });
});

describe("order", () => {
  const at = (occurredAt: string, fields: object = {}) => ({ taskId: "t1", occurredAt, ...fields });

  it("61: an older event after a newer one changes no state, and says that it is stale", async () => {
    await using subject = await InstrumentedReceiver.start();
    await send(subject, { body: json(completedEvent(at("2026-03-01T09:00:01Z"))) });
    await subject.settled();
    expect((await send(subject, { body: json(sampleEvent(at("2026-03-01T09:00:00Z"))) })).status).toBe(200);
    expect(await subject.settled()).toMatchObject({ done: 1, stale: 1 });
    expect(subject.states.get("t1")).toBe("COMPLETED");
    expect(subject.handled.map(({ stale }) => stale)).toEqual([false, true]);
  });

  it("62: two events of the same instant end in the same state, whichever comes first", async () => {
    const instant = at("2026-03-01T09:00:00Z");
    const failed = { event: "task.failed", status: "FAILED" };
    const pair = [sampleEvent({ ...instant, id: "b" }), sampleEvent({ ...instant, id: "a", ...failed })];
    const ends: (string | undefined)[] = [];
    for (const order of [pair, pair.toReversed()]) {
      await using subject = await InstrumentedReceiver.start();
      for (const event of order) {
        expect((await send(subject, { body: json(event) })).status).toBe(200);
        await subject.settled();
      }
      ends.push(subject.states.get("t1"));
    }
    expect(ends).toEqual(["FAILED", "FAILED"]);
  });

  it("63: a microsecond decides", async () => {
    await using subject = await InstrumentedReceiver.start();
    await send(subject, { body: json(completedEvent(at("2026-03-01T09:00:00.000002Z"))) });
    await subject.settled();
    await send(subject, { body: json(sampleEvent(at("2026-03-01T09:00:00.000001Z"))) });
    await subject.settled();
    expect(subject.states.get("t1")).toBe("COMPLETED");
    // What a clock of milliseconds would have made of it: a tie, decided by whichever came last.
    expect(Date.parse("2026-03-01T09:00:00.000002Z")).toBe(Date.parse("2026-03-01T09:00:00.000001Z"));
  });

  it("64: an instant is the same in every zone", async () => {
    await using subject = await InstrumentedReceiver.start();
    await send(subject, { body: json(completedEvent(at("2026-03-01T11:00:00+02:00"))) });
    await subject.settled();
    await send(subject, { body: json(sampleEvent(at("2026-03-01T09:00:00Z"))) });
    await subject.settled();
    expect(subject.states.get("t1")).toBe("COMPLETED");
  });

  it("65: an event of the year 2099 does not silence its task", async () => {
    await using subject = await InstrumentedReceiver.start();
    expect((await send(subject, { body: json(completedEvent(at("2099-01-01T00:00:00Z"))) })).status).toBe(
      200,
    );
    await send(subject, { body: json(sampleEvent(at("2026-03-01T09:00:00Z"))) });
    expect(await subject.settled()).toMatchObject({ quarantined: 1, done: 1 });
    expect(subject.states.get("t1")).toBe("RUNNING");
  });

  it("66: a newer stage event does not hold back an older event of its task", async () => {
    await using subject = await InstrumentedReceiver.start();
    await send(subject, { body: json(stageEvent(at("2026-03-01T09:00:05Z"))) });
    await subject.settled();
    await send(subject, { body: json(sampleEvent(at("2026-03-01T09:00:00Z"))) });
    await subject.settled();
    expect(subject.handled.map(({ stale }) => stale)).toEqual([false, false]);
    expect(subject.states.get("t1")).toBe("RUNNING");
  });

  it("67: a task named like a task and its stage is neither", async () => {
    await using subject = await InstrumentedReceiver.start();
    const later = "2026-03-01T09:00:05Z";
    const earlier = "2026-03-01T09:00:00Z";
    await send(subject, { body: json(stageEvent({ taskId: "a", subTaskId: "b", occurredAt: later })) });
    await subject.settled();
    for (const taskId of ["a/b", "a,b", '["a","b"]', "a\0b"]) {
      await send(subject, { body: json(sampleEvent({ taskId, occurredAt: earlier })) });
      await subject.settled();
      expect(subject.states.get(taskId)).toBe("RUNNING");
    }
  });
});

describe("outages", () => {
  it("68: while the inbox is down, deliveries are to come again; then they are handled once", async () => {
    await using subject = await InstrumentedReceiver.start();
    subject.faults.insert = () => Promise.reject(new Error("connection refused to db.internal:5432"));
    const delivery = deliveryBytes();
    const answer = await send(subject, delivery);
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
    expect(answer.body).not.toContain("db.internal");
    delete subject.faults.insert;
    expect((await send(subject, delivery)).status).toBe(200);
    await subject.settled();
    expect(subject.handled).toHaveLength(1);
  });

  it("69: a commit whose outcome nobody knows is not acknowledged, and its retry is a duplicate", async () => {
    await using subject = await InstrumentedReceiver.start();
    const { inbox } = subject;
    subject.faults.insert = async (arrival) => {
      await inbox.insert(arrival);
      throw new Error("connection lost at COMMIT");
    };
    const delivery = deliveryBytes();
    expect((await send(subject, delivery)).status).toBe(503);
    delete subject.faults.insert;
    expect((await send(subject, delivery)).status).toBe(200);
    await subject.settled();
    expect(subject.handled).toHaveLength(1);
  });

  it("70: a sender that leaves before it hears the answer is answered as a duplicate when it returns", async () => {
    await using subject = await InstrumentedReceiver.start();
    const { inbox } = subject;
    let proceed = () => {};
    const reached = new Promise<void>((resolve) => {
      subject.faults.insert = async (arrival) => {
        resolve();
        await new Promise<void>((go) => {
          proceed = go;
        });
        return inbox.insert(arrival);
      };
    });
    const delivery = deliveryBytes();
    {
      await using connection = await RawConnection.open(subject.port);
      connection.write(delivery);
      await reached;
    }
    proceed();
    await vi.waitFor(() => expect(subject.handled).toHaveLength(1), { interval: 1 });
    delete subject.faults.insert;
    expect((await send(subject, delivery)).status).toBe(200);
    await subject.settled();
    expect(subject.handled).toHaveLength(1);
  });

  it("74: closing in the middle of a burst loses nothing that was acknowledged", async () => {
    await using subject = await InstrumentedReceiver.start();
    const ids = Array.from({ length: 60 }, nextId);
    const burst = ids.map(async (id, index) => {
      const { status } = await send(subject, { id });
      if (index === 20) void subject.receiver.close();
      return { id, status };
    });
    const answers = await Promise.all(burst);
    const acknowledged = answers.filter(({ status }) => status === 200);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
    for (const { id } of acknowledged) {
      expect(await subject.inbox.get({ source: "default", id })).toMatchObject({ id });
    }
  });

  it("75: beyond the backlog, deliveries are to come later, and do once there is room", async () => {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await using subject = await InstrumentedReceiver.start({ backlogMax: 3, concurrency: 1 });
    subject.receiver.on("*", () => finished);
    const answers: RawAnswer[] = [];
    for (let sent = 0; sent < 8; sent += 1) answers.push(await send(subject));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(4);
    expect(refused[0]?.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
    finish();
    await subject.settled();
    subject.clock.hiddenMs += 60_000;
    await vi.waitFor(async () => expect((await send(subject)).status).toBe(200), { interval: 1 });
  });

  it("71: what a handler throws is no business of the sender's, and comes again until it is given up", async () => {
    const dead: string[] = [];
    await using subject = await InstrumentedReceiver.start({
      retry: { firstDelayMs: 1, delayMsMax: 1, attemptsMax: 3 },
      onDead: ({ id }) => dead.push(id),
    });
    let attempts = 0;
    subject.receiver.on("task.running", () => {
      attempts += 1;
      throw new Error("handler");
    });
    expect((await send(subject, { id: "msg_poison" })).status).toBe(200);
    await vi.waitFor(
      () => {
        subject.clock.ms += 10;
        expect(dead).toEqual(["msg_poison"]);
      },
      { interval: 5, timeout: 5000 },
    );
    expect(attempts).toBe(3);
    expect((await subject.settled()).dead).toBe(1);
  });
});

describe("two receivers on one inbox", () => {
  it("72: one that stood still for longer than its lease writes nothing when it wakes", async () => {
    await using subject = await InstrumentedReceiver.start();
    const inbox = memoryInbox({ clock: subject.clock });
    const applied: string[] = [];
    let wake = () => {};
    const asleep = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const handler = (name: string, until?: Promise<void>) => {
      const receiver = createReceiver({
        secrets: target.secrets,
        inbox,
        clock: subject.clock,
        concurrency: 1,
      });
      return receiver.on("*", async (_, { transaction }) => {
        transaction.apply(() => applied.push(name));
        await until;
      });
    };
    await using sleeper = handler("sleeper", asleep);
    await sleeper.start();
    await using host = await listen(createServer(webhookMiddleware(sleeper)));
    expect((await exchange(host.port, deliveryBytes())).status).toBe(200);
    await vi.waitFor(async () => expect((await inbox.stats()).rows.running).toBe(1), { interval: 1 });
    subject.clock.ms += 30_001;
    await using other = handler("other");
    await other.start();
    await vi.waitFor(async () => expect((await inbox.stats()).rows.done).toBe(1), { interval: 1 });
    wake();
    await vi.waitFor(async () => expect((await sleeper.stats()).attempts.lost).toBe(1), { interval: 1 });
    expect(applied).toEqual(["other"]);
  });
});

describe("replay and retention", () => {
  it("76: an event replayed twice is handled twice more, and its id stays known", async () => {
    await using subject = await InstrumentedReceiver.start();
    const delivery = deliveryBytes({ id: "msg_replayed" });
    await send(subject, delivery);
    await subject.settled();
    for (const handled of [2, 3]) {
      expect(await subject.receiver.replay("msg_replayed")).toBe("replayed");
      await subject.settled();
      expect(subject.handled).toHaveLength(handled);
    }
    await send(subject, delivery);
    expect((await subject.settled()).done).toBe(1);
    expect(subject.handled).toHaveLength(3);
  });

  it("77: an id that was forgotten comes as new, but changes no state any more", async () => {
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
    expect(await subject.inbox.purge({ bodiesMs: 1, rowsMs: 1, headsMs: 1e12 }, 100)).toBeGreaterThanOrEqual(
      2,
    );
    expect((await send(subject, older)).status).toBe(200);
    expect(await subject.settled()).toMatchObject({ stale: 1 });
    expect(subject.handled.at(-1)).toMatchObject({ id: "msg_old", stale: true });
    expect(subject.states.get("t1")).toBe("COMPLETED");
  });
});

describe("a flood", () => {
  it("78: of forged deliveries as large as permitted asks the inbox nothing, and lets the honest ones through", async () => {
    await using subject = await InstrumentedReceiver.start();
    const forged = deliveryBytes({ body: Buffer.alloc(bodyBytesMax, "x"), secret: secretX });
    const flood = Array.from({ length: 8 }, async () => {
      await using connection = await RawConnection.open(subject.port);
      for (let sent = 1; sent <= 25; sent += 1) {
        await connection.writeAll(forged);
        expect((await connection.answers(sent)).at(-1)?.status).toBe(401);
      }
    });
    expect((await send(subject)).status).toBe(200);
    await Promise.all(flood);
    expect(subject.inserts).toBe(1);
    expect(subject.rejections).toHaveLength(200);
  });
});

describe("what was said", () => {
  it("79: no answer, refusal or log line has a secret, a body, or a signature that would have been right", async () => {
    await using subject = await InstrumentedReceiver.start();
    const marker = "marker-in-the-body";
    const ids = [nextId(), nextId(), nextId()] as const;
    const body = json(sampleEvent({ clientId: marker }));
    await send(subject, { id: ids[0], body });
    await send(subject, { id: ids[0], body: json(completedEvent({ clientId: marker })) });
    await send(subject, { id: ids[1], body, secret: secretX });
    await send(subject, { id: ids[2], body: `not JSON ${marker}` });
    await send(subject, { id: nextId(), body: json({ event: "task.running", status: marker }) });
    subject.faults.insert = () => Promise.reject(new Error("disk full"));
    await send(subject, { body });
    await subject.settled();
    quote(subject);
    const everything = said.join("\n");
    expect(everything.length).toBeGreaterThan(10_000);
    expect(everything).toContain("SIGNATURE_MISMATCH");
    expect(everything).not.toContain(marker);
    expect(everything).not.toContain("workspace-1");
    for (const secret of [secretA, secretB]) {
      const key = Buffer.from(secret.slice(6), "base64");
      expect(everything).not.toContain(secret.slice(6, 18));
      expect(everything).not.toContain(key.toString("hex").slice(0, 12));
      const right = signBytes(secret, `${ids[1]}.${nowSeconds}.`, Buffer.from(body));
      expect(everything).not.toContain(right.slice(3, 15));
    }
  });
});

describe("the numbers", () => {
  it("are each given once, and none of the first eighty is missing", ({ task }) => {
    const numbers = namesOf(task.file).map((name) => /^'?(\d+)([a-z]?)'?:/.exec(name));
    const given = numbers.filter((match) => match !== null);
    const labels = given.map(([, number, letter]) => `${number}${letter}`);
    const shared = new Set(["31", "50"]);
    const once = labels.filter((label) => !shared.has(label) && !tableLabels.has(label));
    expect(once).toEqual([...new Set(once)]);
    expect(new Set(labels.filter((label) => tableLabels.has(label)))).toEqual(tableLabels);
    const missing = Array.from({ length: 80 }, (_, index) => String(index + 1)).filter(
      (number) => !given.some((match) => match[1] === number),
    );
    expect(missing).toEqual([]);
    expect(given.length).toBeGreaterThan(180);
  });
});

const tableLabels = new Set(adversarialRequests.map(({ number }) => number));

function namesOf(suite: {
  readonly tasks: readonly { readonly name: string; readonly tasks?: unknown }[];
}): string[] {
  return suite.tasks.flatMap((task) => (Array.isArray(task.tasks) ? namesOf(task as never) : [task.name]));
}

/** A chunked delivery whose first chunk has come and whose end never does. */
function headWithoutLength(): Buffer {
  const id = nextId();
  return requestBytes({
    headers: [
      ["webhook-id", id],
      ["webhook-timestamp", String(nowSeconds)],
      ["webhook-signature", `v1,${Buffer.alloc(32).toString("base64")}`],
      ["Transfer-Encoding", "chunked"],
    ],
    body: '5\r\n{"a":\r\n',
    contentLength: null,
  });
}
