import type { DeliveryFault } from "@workspace-tasks/mock-server";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it } from "vitest";
import { type CapturedDelivery, startCapturingReceiver } from "../../support/capturing-receiver.ts";
import { useService } from "./harness.ts";
import { done, endpointMutations, type Variables } from "./operations.ts";
import { atTime, type Subscriber, secretsThatSigned, signatureHeaders, subscribe } from "./subscriber.ts";

const timeoutMs = 500;
const service = useService({ settings: { delivery: { timeoutMs } } });
const endpoints = endpointMutations(service);

afterEach(async () => {
  await service.control.clearFaults();
});

const startTask = ({ workspaceId }: Subscriber, task: Variables = {}): Promise<{ taskId: string }> =>
  service.control.startTask({ workspaceId, taskType: "BINDER", progression: "manual", ...task });

const nowMs = () => service.mock.clock.now();
const update = async ({ endpointId, admin }: Subscriber, input: Variables) =>
  done(endpoints.update({ endpointId, ...input }, await admin()));
const remove = async ({ endpointId, admin }: Subscriber) => done(endpoints.remove(endpointId, await admin()));

/** Lets time pass, and checks how many deliveries have come just before its end and at its end. */
async function expectArrival({ receiver }: Subscriber, afterMs: number, count: number) {
  await service.advance(afterMs - 1);
  expect(receiver.deliveries).toHaveLength(count - 1);
  await service.advance(1);
  expect(receiver.deliveries).toHaveLength(count);
}

const instruct = ({ endpointId }: Subscriber, ...instructions: DeliveryFault[]) =>
  service.control.setFaults({ deliveries: [{ endpointId, instructions }] });

/** Starts a task, and returns its delivery. */
async function nextDelivery(of: Subscriber): Promise<CapturedDelivery> {
  const { length } = of.receiver.deliveries;
  await startTask(of);
  return (await of.receiver.received(length + 1))[length]!;
}

/** What the official library says of a delivery now. */
const verdictOf = (secret: string, { body, headers }: Pick<CapturedDelivery, "body" | "headers">) =>
  atTime(nowMs(), () => {
    try {
      new Webhook(secret).verify(body, headers as Record<string, string>);
      return "accepts";
    } catch (error) {
      return (error as Error).message;
    }
  });

const hourMs = 3_600_000;

describe("D1 D2 D6 an attempt", () => {
  it("D1 a delivery is a POST of the exact signed bytes with the three headers", async () => {
    await using all = await subscribe(service);
    await startTask(all, { attributes: [{ name: "note", value: "naïve ✓ 🙂" }] });
    const delivery = (await all.receiver.received(1))[0]!;
    expect(delivery).toMatchObject({ method: "POST", path: "/webhooks" });
    expect(delivery.headers["content-type"]).toMatch(/^application\/json/);
    expect(Number(delivery.headers["content-length"])).toBe(delivery.body.length);
    const { id, timestamp, signatures } = signatureHeaders(delivery);
    expect(id).not.toBe("");
    expect(timestamp).toBe(String(Math.floor(nowMs() / 1_000)));
    expect(signatures).toEqual([expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/)]);
    expect(secretsThatSigned(delivery, [all.secret])).toEqual([all.secret]);
  });

  it("D2 retries and replays have the same id, a new timestamp and a new signature", async () => {
    await using all = await subscribe(service, { response: 500 });
    await nextDelivery(all);
    await service.advance("5s");
    all.receiver.respondWith(204);
    await service.advance("6m");
    const [record] = await all.deliveries();
    await service.control.replayDelivery(record?.id ?? "");
    const received = (await all.receiver.received(4)).map((delivery) => {
      expect(secretsThatSigned(delivery, [all.secret])).toEqual([all.secret]);
      return { ...signatureHeaders(delivery), body: delivery.body.toString() };
    });
    const different = (read: (each: (typeof received)[number]) => unknown) =>
      new Set(received.map(read)).size;
    expect(received[0]?.id).toBe(record?.id);
    expect([different(({ id }) => id), different(({ body }) => body)]).toEqual([1, 1]);
    const isNew = [different(({ timestamp }) => timestamp), different(({ signatures }) => signatures[0])];
    expect(isNew).toEqual([4, 4]);
  });

  it("D6 every attempt is recorded with its request and its response", async () => {
    await using all = await subscribe(service, {
      response: { status: 503, headers: { "x-receiver": "busy" }, body: "b".repeat(20_000) },
    });
    const came = await nextDelivery(all);
    await service.advance("5s");
    const [record] = await all.deliveries();
    expect(record?.attempts).toHaveLength(2);
    const [first, second] = record?.attempts ?? [];
    expect(first).toMatchObject({
      number: 1,
      kind: "scheduled",
      status: 503,
      error: "status 503",
      durationMs: expect.any(Number),
      requestBody: came.body.toString(),
      responseHeaders: { "x-receiver": "busy" },
      responseBody: "b".repeat(16_384),
      faults: [],
    });
    expect(first?.requestHeaders).toEqual(came.headers);
    expect(Date.parse(second?.startedAt ?? "") - Date.parse(first?.startedAt ?? "")).toBe(5_000);
  });
});

describe("D3 acknowledgement", () => {
  it.each([200, 201, 202, 204, 299])("D3 a %i acknowledges the delivery", async (status) => {
    await using all = await subscribe(service, { response: status });
    await startTask(all);
    await service.advance("7d");
    expect(all.receiver.deliveries).toHaveLength(1);
    expect(await all.deliveries()).toMatchObject([{ status: "succeeded", nextAttemptAt: null }]);
  });

  const errors = { hang: `no response within ${timeoutMs} ms`, reset: "ECONNRESET" };
  it.each([101, 300, 304, 400, 401, 404, 410, 429, 500, 503, "reset", "hang"] as const)(
    "D3 %s does not acknowledge the delivery, and a retry follows after 5 s",
    async (response) => {
      await using all = await subscribe(service, { response });
      await startTask(all);
      await service.advance("4s");
      all.receiver.respondWith(204);
      await expectArrival(all, 1_000, 2);
      const [record] = await all.deliveries({ status: "succeeded" });
      const [first, second] = record?.attempts ?? [];
      expect(first?.status).toBe(typeof response === "number" ? response : null);
      expect(first?.error).toContain(typeof response === "number" ? "status" : errors[response]);
      expect(first?.error?.includes("redirects are not followed")).toBe(response === 300);
      expect(second).toMatchObject({ status: 204, error: null });
    },
  );

  it("D3 a redirect is not followed", async () => {
    await using elsewhere = await startCapturingReceiver();
    await using all = await subscribe(service, {
      response: { status: 307, headers: { location: elsewhere.url } },
    });
    await startTask(all);
    await service.advance("1h");
    expect(all.receiver.deliveries.length).toBeGreaterThan(1);
    expect(elsewhere.deliveries).toHaveLength(0);
  });

  it("D3 an unreachable receiver gets retries until it responds", async () => {
    await using all = await subscribe(service);
    await all.receiver.close();
    await startTask(all);
    await service.advance("6m");
    const [record] = await all.deliveries();
    expect(record?.status).toBe("pending");
    const refused = expect.stringContaining("ECONNREFUSED");
    expect(record?.attempts.map(({ error }) => error)).toEqual([refused, refused, refused]);
  });

  it("D3 a delivery fails after eight attempts over 27 hours", async () => {
    await using all = await subscribe(service, { response: 500 });
    await startTask(all);
    await service.advance("30d");
    const [record] = await all.deliveries();
    expect(record).toMatchObject({ status: "failed", nextAttemptAt: null });
    const starts = record?.attempts.map(({ startedAt }) => Date.parse(startedAt)) ?? [];
    const waits = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    const hours = [1 / 12, 0.5, 2, 5, 10, 10].map((count) => count * hourMs);
    expect(waits).toEqual([5_000, ...hours]);
    expect(all.receiver.deliveries).toHaveLength(8);
  });

  it.each([
    [503, "8", 8_000],
    [429, "8", 8_000],
    [503, "3600", 10_000],
    [503, "0", 5_000],
    [503, "later", 5_000],
    [500, "8", 5_000],
  ])("D3 a %i with Retry-After %s schedules the retry after %i ms", async (status, retryAfter, waitMs) => {
    const headers = { "retry-after": retryAfter };
    await using all = await subscribe(service, { response: { status, headers } });
    await startTask(all);
    await expectArrival(all, waitMs, 2);
  });
});

describe("D4 a paused endpoint", () => {
  it("D4 a pending delivery waits while its endpoint is paused, and then continues", async () => {
    await using all = await subscribe(service, { response: 500 });
    await nextDelivery(all);
    await service.advance("1s");
    await update(all, { enabled: false });
    all.receiver.respondWith(204);
    await service.advance("7d");
    expect(all.receiver.deliveries).toHaveLength(1);
    expect(await all.deliveries()).toMatchObject([{ status: "paused" }]);
    await update(all, { enabled: true });
    await service.advance(0);
    expect(all.receiver.deliveries).toHaveLength(2);
    expect(await all.deliveries()).toMatchObject([{ status: "succeeded" }]);
  });

  it("D4 a pause that ends before the next retry does not move the retry", async () => {
    await using all = await subscribe(service, { response: 500 });
    await nextDelivery(all);
    await service.advance("1s");
    await update(all, { enabled: false });
    await service.advance("2s");
    await update(all, { enabled: true });
    await expectArrival(all, 2_000, 2);
  });

  it("D4 events during a pause are never delivered", async () => {
    await using paused = await subscribe(service);
    await using open = await subscribe(service, { within: paused });
    await update(paused, { enabled: false });
    await nextDelivery(open);
    await update(paused, { enabled: true });
    await service.advance("7d");
    expect(paused.receiver.deliveries).toHaveLength(0);
    await nextDelivery(paused);
  });
});

describe("D5 at-least-once delivery", () => {
  it("D5 a retry goes to its endpoint's new URL, also without a subscription to the event", async () => {
    await using all = await subscribe(service, { response: 500 });
    await using moved = await startCapturingReceiver();
    await nextDelivery(all);
    await update(all, { url: moved.url, eventTypes: ["documents.synced"] });
    await startTask(all);
    await service.advance("5s");
    expect([all.receiver.deliveries.length, moved.deliveries.length]).toEqual([1, 1]);
    expect(await all.deliveries()).toMatchObject([{ status: "succeeded" }]);
  });

  it("D5 without faults each event of a task is delivered once and in order", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all, { taskType: "TAX_PREP", progression: "immediate" });
    await service.advance("1d");
    const stages = Array(5).fill("subtask.completed");
    expect(all.receiver.deliveries.map(({ event }) => `${event.taskId} ${event.event}`)).toEqual(
      ["task.running", ...stages, "task.completed"].map((event) => `${taskId} ${event}`),
    );
  });

  it("D5 with all faults that the contract permits no delivery is lost", async () => {
    await service.control.setFaults({ profile: "contract" });
    await using all = await subscribe(service);
    for (let count = 0; count < 30; count++)
      await startTask(all, { taskType: "TAX_PREP", progression: "immediate" });
    await service.advance("7d");
    const { deliveries } = all.receiver;
    const ids = deliveries.map(({ headers }) => String(headers["webhook-id"]));
    const records = await all.deliveries();
    expect(records).toHaveLength(30 * 7);
    expect(records.every(({ status }) => status === "succeeded")).toBe(true);
    expect(new Set(ids)).toEqual(new Set(records.map(({ id }) => id)));
    expect(ids.length, "some came more than once").toBeGreaterThan(records.length);
    const times = deliveries.map(({ event }) => event.occurredAt);
    expect(times, "some came out of order").not.toEqual(times.toSorted());
    const signed = deliveries.filter((delivery) => secretsThatSigned(delivery, [all.secret]).length === 1);
    expect(signed).toHaveLength(deliveries.length);
  });

  it("D5 the fault duplicate sends the same delivery again", async () => {
    await using all = await subscribe(service);
    await instruct(all, { kind: "duplicate", copies: 2 });
    await startTask(all);
    const received = await all.receiver.received(3);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    await service.advance(0);
    const [record] = await all.deliveries();
    expect(record?.attempts.map(({ kind }) => kind)).toEqual(["scheduled", "duplicate", "duplicate"]);
  });

  it("D5 the fault reorder sends a delivery after the next one", async () => {
    await using all = await subscribe(service);
    await instruct(all, { kind: "reorder" });
    const { taskId } = await startTask(all);
    await service.control.setTaskStatus(taskId, { status: "COMPLETED" });
    const received = await all.receiver.received(2);
    expect(received.map(({ event }) => event.event)).toEqual(["task.completed", "task.running"]);
  });

  it.each([
    ["reorder, when no other one follows,", { kind: "reorder" }, 5_000, []],
    ["delay", { kind: "delay", delayMs: 60_000 }, 60_000, []],
    ["drop, by its first retry,", { kind: "drop" }, 5_000, ["drop"]],
  ] as const)(
    "D5 the fault %s sends a delivery late, with a new signature",
    async (_, fault, afterMs, faults) => {
      await using all = await subscribe(service);
      await instruct(all, fault);
      await startTask(all);
      await expectArrival(all, afterMs, 1);
      const { timestamp } = signatureHeaders(all.receiver.deliveries[0]!);
      expect(Number(timestamp)).toBe(Math.floor(nowMs() / 1_000));
      const [record] = await all.deliveries({ status: "succeeded" });
      expect(record?.attempts[0]?.faults).toEqual(expect.arrayContaining([...faults]));
    },
  );

  it.each(["wrong-signature", "altered-body", "stale-timestamp"] as const)(
    "D5 a verifier rejects an attempt with the fault %s and accepts its retry",
    async (kind) => {
      await using all = await subscribe(service);
      all.receiver.respondWith((delivery) => (verdictOf(all.secret, delivery) === "accepts" ? 204 : 401));
      await instruct(all, { kind });
      await startTask(all);
      await service.advance("5s");
      const [record] = await all.deliveries();
      expect(record?.attempts).toMatchObject([
        { status: 401, faults: [kind] },
        { status: 204, faults: [] },
      ]);
    },
  );
});

describe("W10 deleting an endpoint", () => {
  it("W10 a deleted endpoint receives nothing more, pending retries included", async () => {
    await using all = await subscribe(service, { response: 500 });
    await nextDelivery(all);
    await service.advance(0);
    expect(await remove(all)).toBe(true);
    const cancelled = [{ status: "cancelled", nextAttemptAt: null }];
    expect(await all.deliveries(), "at once, not when the retry is due").toMatchObject(cancelled);
    await startTask(all);
    await service.advance("30d");
    expect(all.receiver.deliveries).toHaveLength(1);
    expect(await all.deliveries()).toMatchObject(cancelled);
  });
});

describe("W13 rotating a secret", () => {
  const rotate = async (
    { endpointId, admin }: Subscriber,
    gracePeriodSeconds?: number | null,
  ): Promise<string> =>
    (await done(endpoints.rotate({ endpointId, gracePeriodSeconds }, await admin()))).signingSecret;

  it("W13 standardwebhooks verifies with either secret until the grace period ends", async () => {
    await using all = await subscribe(service);
    const fresh = await rotate(all, 3_600);
    const verdicts = async () => {
      const delivery = await nextDelivery(all);
      return [all.secret, fresh].map((secret) => verdictOf(secret, delivery));
    };
    await service.advance("59m");
    expect(await verdicts()).toEqual(["accepts", "accepts"]);
    await service.advance("1m");
    expect(await verdicts()).toEqual(["No matching signature found", "accepts"]);
  });

  it.each([
    ["the default one, a day", undefined, 86_400_000],
    ["the default one for null", null, 86_400_000],
    ["the longest one, a week", 604_800, 604_800_000],
    ["none", 0, 0],
  ])("W13 the old secret signs for the grace period: %s", async (_, seconds, graceMs) => {
    await using all = await subscribe(service);
    const fresh = await rotate(all, seconds);
    const signers = async () => secretsThatSigned(await nextDelivery(all), [fresh, all.secret]);
    if (graceMs > 0) {
      await service.advance(graceMs - 1);
      expect(await signers()).toEqual([fresh, all.secret]);
      await service.advance(1);
    }
    expect(await signers()).toEqual([fresh]);
    expect(signatureHeaders(await nextDelivery(all)).signatures).toHaveLength(1);
  });

  it("W13 after two rotations every secret signs until its own grace period ends", async () => {
    await using all = await subscribe(service);
    const second = await rotate(all, 600);
    await service.advance("1m");
    const third = await rotate(all, 60);
    const every = [third, second, all.secret];
    const signers = async () => secretsThatSigned(await nextDelivery(all), every);
    expect(await signers()).toEqual(every);
    const delivery = await nextDelivery(all);
    const [first] = signatureHeaders(delivery).signatures;
    const headers = { ...delivery.headers, "webhook-signature": first };
    expect(secretsThatSigned({ ...delivery, headers }, every), "the newest secret is the first").toEqual([
      third,
    ]);
    await service.advance("1m");
    expect(await signers(), "the second had 60 s").toEqual([third, all.secret]);
    await service.advance("8m");
    expect(await signers(), "the first had 600 s").toEqual([third]);
  });

  it("W13 a retry is signed with the secrets that are valid at that time", async () => {
    await using all = await subscribe(service, { response: 500 });
    expect(secretsThatSigned(await nextDelivery(all), [all.secret])).toEqual([all.secret]);
    const fresh = await rotate(all, 0);
    await service.advance("5s");
    const [, retry] = await all.receiver.received(2);
    expect(secretsThatSigned(retry!, [fresh, all.secret])).toEqual([fresh]);
  });

  it("W13 the fault old-secret-only leaves out the new secret's signature once", async () => {
    await using all = await subscribe(service);
    const fresh = await rotate(all);
    await instruct(all, { kind: "old-secret-only" });
    expect(secretsThatSigned(await nextDelivery(all), [fresh, all.secret])).toEqual([all.secret]);
    expect(secretsThatSigned(await nextDelivery(all), [fresh, all.secret])).toEqual([fresh, all.secret]);
  });
});
