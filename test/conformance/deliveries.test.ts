import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect } from "vitest";
import type { DeliveryFault } from "workspace-tasks/mock-server";
import { mockTest, startReceiver, useService } from "./harness.ts";
import { atTime, secretsThatSigned, signatureHeaders, subscribe } from "./subscriber.ts";

const timeoutMs = 150;
const service = useService({ settings: { delivery: { timeoutMs } } });

afterEach(async () => {
  await service.control.clearFaults();
});

const startTask = (workspaceId: string, task: Record<string, unknown> = {}): Promise<{ taskId: string }> =>
  service.control.startTask({ workspaceId, taskType: "BINDER", progression: "manual", ...task });

const nowMs = () => service.mock.clock.now();

const update = `mutation ($input: UpdateWebhookEndpointInput!) { updateWebhookEndpoint(input: $input) { enabled } }`;
const remove = `mutation ($id: ID!) { deleteWebhookEndpoint(endpointId: $id) }`;
const rotate = `mutation ($input: RotateWebhookEndpointSecretInput!) {
  rotateWebhookEndpointSecret(input: $input) { endpoint { id } signingSecret }
}`;

const fiveMinutesMs = 5 * 60_000;
const hourMs = 3_600_000;

describe("an attempt", () => {
  mockTest("D1 it is a POST of the exact signed bytes with the three headers", async () => {
    await using all = await subscribe(service);
    await startTask(all.workspaceId, { attributes: [{ name: "note", value: "naïve ✓ 🙂" }] });
    const [delivery] = await all.receiver.received(1);
    if (!delivery) throw new Error("nothing came");
    expect(delivery).toMatchObject({ method: "POST", path: "/webhooks" });
    expect(delivery.headers["content-type"]).toMatch(/^application\/json/);
    expect(Number(delivery.headers["content-length"])).toBe(delivery.body.length);
    const { id, timestamp, signatures } = signatureHeaders(delivery);
    expect(id).not.toBe("");
    expect(timestamp).toBe(String(Math.floor(nowMs() / 1_000)));
    expect(signatures).toEqual([expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/)]);
    expect(secretsThatSigned(delivery, [all.secret])).toEqual([all.secret]);
  });

  mockTest("D1 one byte changed, or another secret, and the signature does not fit", async () => {
    await using all = await subscribe(service);
    await startTask(all.workspaceId);
    const [delivery] = await all.receiver.received(1);
    if (!delivery) throw new Error("nothing came");
    const body = Buffer.from(delivery.body);
    body.writeUInt8(body.readUInt8(9) ^ 1, 9);
    expect(secretsThatSigned({ ...delivery, body }, [all.secret])).toEqual([]);
    expect(secretsThatSigned(delivery, [`whsec_${Buffer.alloc(32).toString("base64")}`])).toEqual([]);
  });

  mockTest("D2 the id stays over retries and replays, timestamp and signature are fresh", async () => {
    await using all = await subscribe(service, { answer: 500 });
    await startTask(all.workspaceId);
    await all.receiver.received(1);
    await service.advance("5s");
    all.receiver.answer(204);
    await service.advance("5m");
    await service.advance("1m");
    const [record] = await all.deliveries();
    await service.control.replayDelivery(record?.id ?? "");

    const received = (await all.receiver.received(4)).map((delivery) => {
      expect(secretsThatSigned(delivery, [all.secret])).toEqual([all.secret]);
      return { ...signatureHeaders(delivery), body: delivery.body.toString() };
    });
    expect(new Set(received.map(({ id }) => id))).toEqual(new Set([record?.id]));
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
    expect(new Set(received.map(({ timestamp }) => timestamp)).size).toBe(4);
    expect(new Set(received.map(({ signatures }) => signatures[0])).size).toBe(4);
  });

  mockTest("D6 every attempt is recorded as it went and as it was answered", async () => {
    await using all = await subscribe(service, {
      answer: { status: 503, headers: { "x-receiver": "busy" }, body: "b".repeat(5_000) },
    });
    await startTask(all.workspaceId);
    const [came] = await all.receiver.received(1);
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
      requestBody: came?.body.toString(),
      responseHeaders: { "x-receiver": "busy" },
      responseBody: "b".repeat(1_024),
      faults: [],
    });
    expect(first?.requestHeaders).toEqual(came?.headers);
    expect(Date.parse(second?.startedAt ?? "") - Date.parse(first?.startedAt ?? "")).toBe(5_000);
  });
});

describe("acknowledgement", () => {
  for (const status of [200, 201, 202, 204, 299]) {
    mockTest(`D3 a ${status} acknowledges`, async () => {
      await using all = await subscribe(service, { answer: status });
      await startTask(all.workspaceId);
      await service.advance("7d");
      expect(all.receiver.deliveries).toHaveLength(1);
      expect(await all.deliveries()).toMatchObject([{ status: "succeeded", nextAttemptAt: null }]);
    });
  }

  for (const answer of [300, 304, 400, 401, 404, 410, 429, 500, 503, "reset", "hang"] as const) {
    mockTest(`D3 ${answer} does not acknowledge, a retry follows after 5 s`, async () => {
      await using all = await subscribe(service, { answer });
      await startTask(all.workspaceId);
      await service.advance("4999ms");
      expect(all.receiver.deliveries).toHaveLength(1);
      all.receiver.answer(204);
      await service.advance("1ms");
      expect(all.receiver.deliveries).toHaveLength(2);
      const [record] = await all.deliveries({ status: "succeeded" });
      const [first, second] = record?.attempts ?? [];
      expect(first?.status).toBe(typeof answer === "number" ? answer : null);
      expect(first?.error).toMatch(
        answer === "hang"
          ? `no response within ${timeoutMs} ms`
          : answer === "reset"
            ? /ECONNRESET/
            : /^status/,
      );
      expect(second).toMatchObject({ status: 204, error: null });
    });
  }

  mockTest("D3 a redirect is not followed", async () => {
    await using elsewhere = await startReceiver();
    await using all = await subscribe(service, {
      answer: { status: 307, headers: { location: elsewhere.url } },
    });
    await startTask(all.workspaceId);
    await service.advance("1h");
    expect(all.receiver.deliveries.length).toBeGreaterThan(1);
    expect(elsewhere.deliveries).toHaveLength(0);
  });

  mockTest("D3 a receiver that is not there is tried again until it is", async () => {
    await using all = await subscribe(service);
    await all.receiver.close();
    await startTask(all.workspaceId);
    await service.advance("6m");
    const [record] = await all.deliveries();
    expect(record).toMatchObject({ status: "pending" });
    expect(record?.attempts.map(({ error }) => error)).toEqual(
      Array(3).fill(expect.stringMatching(/ECONNREFUSED/)),
    );
  });

  mockTest("D3 the schedule has eight attempts over 27 hours, then the delivery has failed", async () => {
    await using all = await subscribe(service, { answer: 500 });
    await startTask(all.workspaceId);
    await service.advance("30d");
    const [record] = await all.deliveries();
    expect(record).toMatchObject({ status: "failed", nextAttemptAt: null });
    const starts = record?.attempts.map(({ startedAt }) => Date.parse(startedAt)) ?? [];
    const waits = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(waits).toEqual([
      5_000,
      fiveMinutesMs,
      hourMs / 2,
      2 * hourMs,
      5 * hourMs,
      10 * hourMs,
      10 * hourMs,
    ]);
    expect(all.receiver.deliveries).toHaveLength(8);
  });

  for (const [status, retryAfter, waitMs] of [
    [503, "8", 8_000],
    [429, "8", 8_000],
    [503, "3600", 10_000],
    [503, "0", 5_000],
    [503, "later", 5_000],
    [500, "8", 5_000],
  ] as const) {
    mockTest(`D3 a ${status} with Retry-After ${retryAfter} puts the retry at ${waitMs} ms`, async () => {
      await using all = await subscribe(service, {
        answer: { status, headers: { "retry-after": retryAfter } },
      });
      await startTask(all.workspaceId);
      await service.advance(waitMs - 1);
      expect(all.receiver.deliveries).toHaveLength(1);
      await service.advance(1);
      expect(all.receiver.deliveries).toHaveLength(2);
    });
  }

  mockTest("D3 a Retry-After that is a date is understood", async () => {
    await using all = await subscribe(service, {
      answer: { status: 503, headers: { "retry-after": new Date(nowMs() + 9_000).toUTCString() } },
    });
    await startTask(all.workspaceId);
    await service.advance(7_999);
    expect(all.receiver.deliveries).toHaveLength(1);
    await service.advance(1_001);
    expect(all.receiver.deliveries).toHaveLength(2);
  });
});

describe("pausing", () => {
  const setEnabled = async (of: Awaited<ReturnType<typeof subscribe>>, enabled: boolean) => {
    const answer = await of.call(update, { input: { endpointId: of.endpointId, enabled } });
    expect(answer.errors).toBeUndefined();
  };

  mockTest(
    "D4 what is pending waits while the endpoint is paused and goes on when it is enabled",
    async () => {
      await using all = await subscribe(service, { answer: 500 });
      await startTask(all.workspaceId);
      await all.receiver.received(1);
      await service.advance("1s");
      await setEnabled(all, false);
      all.receiver.answer(204);
      await service.advance("7d");
      expect(all.receiver.deliveries).toHaveLength(1);
      expect(await all.deliveries()).toMatchObject([{ status: "paused" }]);

      await setEnabled(all, true);
      await service.advance(0);
      expect(all.receiver.deliveries).toHaveLength(2);
      expect(await all.deliveries()).toMatchObject([{ status: "succeeded" }]);
    },
  );

  mockTest("D4 a short pause does not move the retry that was due later", async () => {
    await using all = await subscribe(service, { answer: 500 });
    await startTask(all.workspaceId);
    await all.receiver.received(1);
    await service.advance("1s");
    await setEnabled(all, false);
    await service.advance("2s");
    await setEnabled(all, true);
    await service.advance("1999ms");
    expect(all.receiver.deliveries).toHaveLength(1);
    await service.advance("1ms");
    expect(all.receiver.deliveries).toHaveLength(2);
  });

  mockTest("D4 events that happen during the pause are not delivered, not even later", async () => {
    await using paused = await subscribe(service);
    await using open = await subscribe(service, { within: paused });
    await setEnabled(paused, false);
    await startTask(paused.workspaceId);
    await open.receiver.received(1);
    await setEnabled(paused, true);
    await service.advance("7d");
    expect(paused.receiver.deliveries).toHaveLength(0);
    await startTask(paused.workspaceId);
    expect(await paused.receiver.received(1)).toHaveLength(1);
  });
});

describe("at least once", () => {
  mockTest("D5 without faults each event of a task comes once and in order", async () => {
    await using all = await subscribe(service);
    const { taskId } = await startTask(all.workspaceId, { taskType: "TAX_PREP", progression: "immediate" });
    await service.advance("1d");
    expect(all.receiver.deliveries.map(({ event }) => event.event)).toEqual([
      "task.running",
      ...Array(5).fill("subtask.completed"),
      "task.completed",
    ]);
    expect(all.receiver.deliveries.every(({ event }) => event.taskId === taskId)).toBe(true);
  });

  mockTest("D5 under everything the contract permits, nothing is lost", async () => {
    await service.control.setFaults({ profile: "contract" });
    await using all = await subscribe(service);
    for (let count = 0; count < 30; count++) {
      await startTask(all.workspaceId, { taskType: "TAX_PREP", progression: "immediate" });
    }
    await service.advance("7d");
    const ids = all.receiver.deliveries.map(({ headers }) => String(headers["webhook-id"]));
    const records = await all.deliveries();
    expect(records).toHaveLength(30 * 7);
    expect(records.every(({ status }) => status === "succeeded")).toBe(true);
    expect(new Set(ids)).toEqual(new Set(records.map(({ id }) => id)));
    expect(ids.length, "some came more than once").toBeGreaterThan(records.length);
    const times = all.receiver.deliveries.map(({ event }) => event.occurredAt);
    expect(times, "some came out of order").not.toEqual([...times].sort());
    for (const delivery of all.receiver.deliveries) {
      expect(secretsThatSigned(delivery, [all.secret]), "all are rightly signed").toEqual([all.secret]);
    }
  });

  const instruct = (endpointId: string, ...instructions: DeliveryFault[]) =>
    service.control.setFaults({ deliveries: [{ endpointId, instructions }] });

  mockTest("D5 a duplicate is the same delivery again", async () => {
    await using all = await subscribe(service);
    await instruct(all.endpointId, { kind: "duplicate", copies: 2 });
    await startTask(all.workspaceId);
    const received = await all.receiver.received(3);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    await service.advance(0);
    const [record] = await all.deliveries();
    expect(record?.attempts.map(({ kind }) => kind)).toEqual(["scheduled", "duplicate", "duplicate"]);
  });

  mockTest("D5 a delivery put back by reorder comes after the next one", async () => {
    await using all = await subscribe(service);
    await instruct(all.endpointId, { kind: "reorder" });
    const { taskId } = await startTask(all.workspaceId);
    await service.control.setTaskStatus(taskId, { status: "COMPLETED" });
    const received = await all.receiver.received(2);
    expect(received.map(({ event }) => event.event)).toEqual(["task.completed", "task.running"]);
  });

  mockTest("D5 a delivery put back by reorder comes in the end though no other one follows", async () => {
    await using all = await subscribe(service);
    await instruct(all.endpointId, { kind: "reorder" });
    await startTask(all.workspaceId);
    await service.advance("4s");
    expect(all.receiver.deliveries).toHaveLength(0);
    await service.advance("1s");
    expect(all.receiver.deliveries).toHaveLength(1);
  });

  mockTest("D5 a delayed delivery comes late, and freshly signed", async () => {
    await using all = await subscribe(service);
    await instruct(all.endpointId, { kind: "delay", delayMs: 60_000 });
    await startTask(all.workspaceId);
    await service.advance("59s");
    expect(all.receiver.deliveries).toHaveLength(0);
    await service.advance("1s");
    const [delivery] = await all.receiver.received(1);
    if (!delivery) throw new Error("nothing came");
    expect(Number(signatureHeaders(delivery).timestamp)).toBe(Math.floor(nowMs() / 1_000));
  });

  mockTest("D5 a lost delivery is retried on the schedule", async () => {
    await using all = await subscribe(service);
    await instruct(all.endpointId, { kind: "drop" });
    await startTask(all.workspaceId);
    await service.advance("4s");
    expect(all.receiver.deliveries).toHaveLength(0);
    await service.advance("1s");
    expect(all.receiver.deliveries).toHaveLength(1);
    const [record] = await all.deliveries();
    expect(record?.attempts).toMatchObject([
      { error: "dropped by a fault", faults: ["drop"] },
      { status: 204 },
    ]);
  });

  mockTest("D5 a forged attempt is refused by a verifier, the retry is accepted", async () => {
    const forgeries = ["wrong-signature", "altered-body", "stale-timestamp"] as const;
    for (const kind of forgeries) {
      await using all = await subscribe(service);
      const verifier = new Webhook(all.secret);
      all.receiver.answer(({ body, headers }) =>
        atTime(nowMs(), () => {
          try {
            verifier.verify(body, headers as Record<string, string>);
            return 204;
          } catch {
            return 401;
          }
        }),
      );
      await instruct(all.endpointId, { kind });
      await startTask(all.workspaceId);
      await service.advance("5s");
      const [record] = await all.deliveries();
      expect(record?.attempts, kind).toMatchObject([
        { status: 401, faults: [kind] },
        { status: 204, faults: [] },
      ]);
    }
  });
});

describe("deleting an endpoint", () => {
  mockTest("W10 delivery stops for good, pending retries included", async () => {
    await using all = await subscribe(service, { answer: 500 });
    await startTask(all.workspaceId);
    await all.receiver.received(1);
    await service.advance(0);
    expect((await all.call(remove, { id: all.endpointId })).data).toEqual({ deleteWebhookEndpoint: true });
    await startTask(all.workspaceId);
    await service.advance("30d");
    expect(all.receiver.deliveries).toHaveLength(1);
    expect(await all.deliveries()).toMatchObject([{ status: "cancelled", nextAttemptAt: null }]);
  });

  mockTest("W10 a second delete and any other use of the id are errors", async () => {
    await using all = await subscribe(service);
    await all.call(remove, { id: all.endpointId });
    const uses: [string, Record<string, unknown>][] = [
      [remove, { id: all.endpointId }],
      [update, { input: { endpointId: all.endpointId, enabled: true } }],
      [rotate, { input: { endpointId: all.endpointId } }],
    ];
    for (const [query, variables] of uses) {
      const answer = await all.call(query, variables);
      expect(answer.errors?.[0]).toMatchObject({
        message: "Webhook endpoint not found",
        extensions: { code: "NOT_FOUND" },
      });
    }
  });
});

describe("rotating the secret", () => {
  const rotateSecret = async (of: Awaited<ReturnType<typeof subscribe>>, gracePeriodSeconds?: number) => {
    const answer = await of.call(rotate, {
      input: {
        endpointId: of.endpointId,
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      },
    });
    expect(answer.errors).toBeUndefined();
    return answer.data.rotateWebhookEndpointSecret.signingSecret as string;
  };
  const nextDelivery = async (of: Awaited<ReturnType<typeof subscribe>>) => {
    const { length } = of.receiver.deliveries;
    await startTask(of.workspaceId);
    const delivery = (await of.receiver.received(length + 1))[length];
    if (!delivery) throw new Error("nothing came");
    return delivery;
  };

  mockTest(
    "W13 within the grace period each delivery carries a signature for both, newest first",
    async () => {
      await using all = await subscribe(service);
      const fresh = await rotateSecret(all, 3_600);
      const delivery = await nextDelivery(all);
      expect(secretsThatSigned(delivery, [fresh, all.secret])).toEqual([fresh, all.secret]);
      const [first = ""] = signatureHeaders(delivery).signatures;
      const headers = { ...delivery.headers, "webhook-signature": first };
      expect(secretsThatSigned({ ...delivery, headers }, [fresh, all.secret])).toEqual([fresh]);
    },
  );

  mockTest(
    "W13 an unmodified verifier accepts with either secret, and after the grace with the new one",
    async () => {
      await using all = await subscribe(service);
      const fresh = await rotateSecret(all, 3_600);
      const verdicts = (delivery: Awaited<ReturnType<typeof nextDelivery>>) =>
        [all.secret, fresh].map((secret) =>
          atTime(nowMs(), () => {
            try {
              new Webhook(secret).verify(delivery.body, delivery.headers as Record<string, string>);
              return "accepts";
            } catch (error) {
              return (error as Error).message;
            }
          }),
        );
      expect(verdicts(await nextDelivery(all))).toEqual(["accepts", "accepts"]);
      await service.advance("59m");
      expect(verdicts(await nextDelivery(all))).toEqual(["accepts", "accepts"]);
      await service.advance("1m");
      expect(verdicts(await nextDelivery(all))).toEqual(["No matching signature found", "accepts"]);
    },
  );

  mockTest("W13 the grace period is a day unless said otherwise", async () => {
    await using all = await subscribe(service);
    const fresh = await rotateSecret(all);
    await service.advance(86_400_000 - 1);
    expect(secretsThatSigned(await nextDelivery(all), [fresh, all.secret])).toHaveLength(2);
    await service.advance(1);
    expect(secretsThatSigned(await nextDelivery(all), [fresh, all.secret])).toEqual([fresh]);
  });

  mockTest("W13 with a grace period of 0 the old secret stops at once", async () => {
    await using all = await subscribe(service);
    const fresh = await rotateSecret(all, 0);
    const delivery = await nextDelivery(all);
    expect(signatureHeaders(delivery).signatures).toHaveLength(1);
    expect(secretsThatSigned(delivery, [fresh, all.secret])).toEqual([fresh]);
  });

  mockTest("W13 rotating twice keeps every secret until its own grace period ends", async () => {
    await using all = await subscribe(service);
    const second = await rotateSecret(all, 600);
    await service.advance("1m");
    const third = await rotateSecret(all, 60);
    const every = [third, second, all.secret];
    const signers = async () => secretsThatSigned(await nextDelivery(all), every);
    expect(await signers()).toEqual(every);
    await service.advance("1m");
    expect(await signers(), "the second had 60 s").toEqual([third, all.secret]);
    await service.advance("8m");
    expect(await signers(), "the first had 600 s").toEqual([third]);
  });

  mockTest("W13 a retry is signed with the secrets that live when it is made", async () => {
    await using all = await subscribe(service, { answer: 500 });
    const before = await nextDelivery(all);
    expect(secretsThatSigned(before, [all.secret])).toEqual([all.secret]);
    const fresh = await rotateSecret(all, 0);
    await service.advance("5s");
    const [, retry] = await all.receiver.received(2);
    if (!retry) throw new Error("no retry came");
    expect(secretsThatSigned(retry, [fresh, all.secret])).toEqual([fresh]);
  });

  mockTest("W13 gracePeriodSeconds outside 0 to 604800 is refused in the interface's words", async () => {
    await using all = await subscribe(service);
    for (const gracePeriodSeconds of [-1, 604_801]) {
      const answer = await all.call(rotate, { input: { endpointId: all.endpointId, gracePeriodSeconds } });
      expect(answer.errors?.[0]?.message).toBe("Secret grace period must be between 0 and 604800 seconds");
    }
    for (const gracePeriodSeconds of [0, 604_800]) {
      const answer = await all.call(rotate, { input: { endpointId: all.endpointId, gracePeriodSeconds } });
      expect(answer.errors).toBeUndefined();
    }
  });

  mockTest("W13 the fault old-secret-only leaves the new secret out during the grace period", async () => {
    await using all = await subscribe(service);
    const fresh = await rotateSecret(all);
    await service.control.setFaults({
      deliveries: [{ endpointId: all.endpointId, instructions: [{ kind: "old-secret-only" }] }],
    });
    expect(secretsThatSigned(await nextDelivery(all), [fresh, all.secret])).toEqual([all.secret]);
    expect(secretsThatSigned(await nextDelivery(all), [fresh, all.secret])).toEqual([fresh, all.secret]);
  });
});
