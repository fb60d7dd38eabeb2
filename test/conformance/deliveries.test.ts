import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect } from "vitest";
import type { DeliveryFault } from "workspace-tasks/mock-server";
import { startCapturingReceiver } from "../support/capturing-receiver.ts";
import { mockTest, useService } from "./harness.ts";
import { atTime, secretsThatSigned, signatureHeaders, subscribe } from "./subscriber.ts";

const timeoutMs = 500;
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

describe("D1 D2 D6 an attempt", () => {
  mockTest("D1 a delivery is a POST of the exact signed bytes with the three headers", async () => {
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

  mockTest("D1 the signature does not verify after a changed byte or with another secret", async () => {
    await using all = await subscribe(service);
    await startTask(all.workspaceId);
    const [delivery] = await all.receiver.received(1);
    if (!delivery) throw new Error("nothing came");
    const body = Buffer.from(delivery.body);
    body.writeUInt8(body.readUInt8(9) ^ 1, 9);
    expect(secretsThatSigned({ ...delivery, body }, [all.secret])).toEqual([]);
    expect(secretsThatSigned(delivery, [`whsec_${Buffer.alloc(32).toString("base64")}`])).toEqual([]);
  });

  mockTest("D2 retries and replays have the same id, a new timestamp and a new signature", async () => {
    await using all = await subscribe(service, { response: 500 });
    await startTask(all.workspaceId);
    await all.receiver.received(1);
    await service.advance("5s");
    all.receiver.respondWith(204);
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

  mockTest("D6 every attempt is recorded with its request and its response", async () => {
    await using all = await subscribe(service, {
      response: { status: 503, headers: { "x-receiver": "busy" }, body: "b".repeat(20_000) },
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
      responseBody: "b".repeat(16_384),
      faults: [],
    });
    expect(first?.requestHeaders).toEqual(came?.headers);
    expect(Date.parse(second?.startedAt ?? "") - Date.parse(first?.startedAt ?? "")).toBe(5_000);
  });
});

describe("D3 acknowledgement", () => {
  for (const status of [200, 201, 202, 204, 299]) {
    mockTest(`D3 a ${status} acknowledges the delivery`, async () => {
      await using all = await subscribe(service, { response: status });
      await startTask(all.workspaceId);
      await service.advance("7d");
      expect(all.receiver.deliveries).toHaveLength(1);
      expect(await all.deliveries()).toMatchObject([{ status: "succeeded", nextAttemptAt: null }]);
    });
  }

  for (const response of [101, 300, 304, 400, 401, 404, 410, 429, 500, 503, "reset", "hang"] as const) {
    mockTest(`D3 ${response} does not acknowledge the delivery, and a retry follows after 5 s`, async () => {
      await using all = await subscribe(service, { response });
      await startTask(all.workspaceId);
      await service.advance("4999ms");
      expect(all.receiver.deliveries).toHaveLength(1);
      all.receiver.respondWith(204);
      await service.advance("1ms");
      expect(all.receiver.deliveries).toHaveLength(2);
      const [record] = await all.deliveries({ status: "succeeded" });
      const [first, second] = record?.attempts ?? [];
      expect(first?.status).toBe(typeof response === "number" ? response : null);
      expect(first?.error).toMatch(
        response === "hang"
          ? `no response within ${timeoutMs} ms`
          : response === "reset"
            ? /ECONNRESET/
            : /^status/,
      );
      expect(second).toMatchObject({ status: 204, error: null });
    });
  }

  mockTest("D3 a redirect is not followed", async () => {
    await using elsewhere = await startCapturingReceiver();
    await using all = await subscribe(service, {
      response: { status: 307, headers: { location: elsewhere.url } },
    });
    await startTask(all.workspaceId);
    await service.advance("1h");
    expect(all.receiver.deliveries.length).toBeGreaterThan(1);
    expect(elsewhere.deliveries).toHaveLength(0);
  });

  mockTest("D3 an unreachable receiver gets retries until it responds", async () => {
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

  mockTest("D3 a delivery fails after eight attempts over 27 hours", async () => {
    await using all = await subscribe(service, { response: 500 });
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
    mockTest(
      `D3 a ${status} with Retry-After ${retryAfter} schedules the retry after ${waitMs} ms`,
      async () => {
        await using all = await subscribe(service, {
          response: { status, headers: { "retry-after": retryAfter } },
        });
        await startTask(all.workspaceId);
        await service.advance(waitMs - 1);
        expect(all.receiver.deliveries).toHaveLength(1);
        await service.advance(1);
        expect(all.receiver.deliveries).toHaveLength(2);
      },
    );
  }

  mockTest("D3 a Retry-After with a date schedules the retry at that date", async () => {
    await using all = await subscribe(service, {
      response: { status: 503, headers: { "retry-after": new Date(nowMs() + 9_000).toUTCString() } },
    });
    await startTask(all.workspaceId);
    await service.advance(7_999);
    expect(all.receiver.deliveries).toHaveLength(1);
    await service.advance(1_001);
    expect(all.receiver.deliveries).toHaveLength(2);
  });
});

describe("D4 a paused endpoint", () => {
  const setEnabled = async (of: Awaited<ReturnType<typeof subscribe>>, enabled: boolean) => {
    const response = await of.call(update, { input: { endpointId: of.endpointId, enabled } });
    expect(response.errors).toBeUndefined();
  };

  mockTest(
    "D4 a pending delivery waits while the endpoint is paused and continues when it is enabled",
    async () => {
      await using all = await subscribe(service, { response: 500 });
      await startTask(all.workspaceId);
      await all.receiver.received(1);
      await service.advance("1s");
      await setEnabled(all, false);
      all.receiver.respondWith(204);
      await service.advance("7d");
      expect(all.receiver.deliveries).toHaveLength(1);
      expect(await all.deliveries()).toMatchObject([{ status: "paused" }]);

      await setEnabled(all, true);
      await service.advance(0);
      expect(all.receiver.deliveries).toHaveLength(2);
      expect(await all.deliveries()).toMatchObject([{ status: "succeeded" }]);
    },
  );

  mockTest("D4 a pause that ends before the next retry does not move the retry", async () => {
    await using all = await subscribe(service, { response: 500 });
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

  mockTest("D4 events during a pause are never delivered", async () => {
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

describe("D5 at-least-once delivery", () => {
  mockTest(
    "D5 a retry follows after its endpoint unsubscribed from the event, at the endpoint's new URL",
    async () => {
      await using all = await subscribe(service, { response: 500 });
      await using moved = await startCapturingReceiver();
      await startTask(all.workspaceId);
      await all.receiver.received(1);
      const input = { endpointId: all.endpointId, url: moved.url, eventTypes: ["documents.synced"] };
      expect((await all.call(update, { input })).errors).toBeUndefined();
      await startTask(all.workspaceId);
      await service.advance("5s");
      expect(all.receiver.deliveries).toHaveLength(1);
      expect(moved.deliveries).toHaveLength(1);
      expect(await all.deliveries()).toMatchObject([{ status: "succeeded" }]);
    },
  );

  mockTest("D5 without faults each event of a task is delivered once and in order", async () => {
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

  mockTest("D5 with all faults that the contract permits no delivery is lost", async () => {
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
      expect(secretsThatSigned(delivery, [all.secret]), "all are signed with the secret").toEqual([
        all.secret,
      ]);
    }
  });

  const instruct = (endpointId: string, ...instructions: DeliveryFault[]) =>
    service.control.setFaults({ deliveries: [{ endpointId, instructions }] });

  mockTest("D5 the fault duplicate sends the same delivery again", async () => {
    await using all = await subscribe(service);
    await instruct(all.endpointId, { kind: "duplicate", copies: 2 });
    await startTask(all.workspaceId);
    const received = await all.receiver.received(3);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    await service.advance(0);
    const [record] = await all.deliveries();
    expect(record?.attempts.map(({ kind }) => kind)).toEqual(["scheduled", "duplicate", "duplicate"]);
  });

  mockTest("D5 the fault reorder sends a delivery after the next one", async () => {
    await using all = await subscribe(service);
    await instruct(all.endpointId, { kind: "reorder" });
    const { taskId } = await startTask(all.workspaceId);
    await service.control.setTaskStatus(taskId, { status: "COMPLETED" });
    const received = await all.receiver.received(2);
    expect(received.map(({ event }) => event.event)).toEqual(["task.completed", "task.running"]);
  });

  mockTest("D5 the fault reorder sends a delivery even when no other one follows", async () => {
    await using all = await subscribe(service);
    await instruct(all.endpointId, { kind: "reorder" });
    await startTask(all.workspaceId);
    await service.advance("4s");
    expect(all.receiver.deliveries).toHaveLength(0);
    await service.advance("1s");
    expect(all.receiver.deliveries).toHaveLength(1);
  });

  mockTest("D5 the fault delay sends a delivery late and with a new signature", async () => {
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

  mockTest("D5 a dropped delivery is retried on the schedule", async () => {
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

  mockTest("D5 a verifier rejects a forged attempt and accepts its retry", async () => {
    const forgeries = ["wrong-signature", "altered-body", "stale-timestamp"] as const;
    for (const kind of forgeries) {
      await using all = await subscribe(service);
      const verifier = new Webhook(all.secret);
      all.receiver.respondWith(({ body, headers }) =>
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

describe("W10 deleting an endpoint", () => {
  mockTest("W10 a deleted endpoint receives nothing more, pending retries included", async () => {
    await using all = await subscribe(service, { response: 500 });
    await startTask(all.workspaceId);
    await all.receiver.received(1);
    await service.advance(0);
    expect((await all.call(remove, { id: all.endpointId })).data).toEqual({ deleteWebhookEndpoint: true });
    await startTask(all.workspaceId);
    await service.advance("30d");
    expect(all.receiver.deliveries).toHaveLength(1);
    expect(await all.deliveries()).toMatchObject([{ status: "cancelled", nextAttemptAt: null }]);
  });

  mockTest("W10 every use of a deleted endpoint's id fails", async () => {
    await using all = await subscribe(service);
    await all.call(remove, { id: all.endpointId });
    const uses: [string, Record<string, unknown>][] = [
      [remove, { id: all.endpointId }],
      [update, { input: { endpointId: all.endpointId, enabled: true } }],
      [rotate, { input: { endpointId: all.endpointId } }],
    ];
    for (const [query, variables] of uses) {
      const response = await all.call(query, variables);
      expect(response.errors?.[0]).toMatchObject({
        message: "Webhook endpoint not found",
        extensions: { code: "NOT_FOUND" },
      });
    }
  });
});

describe("W13 rotating a secret", () => {
  const rotateSecret = async (of: Awaited<ReturnType<typeof subscribe>>, gracePeriodSeconds?: number) => {
    const response = await of.call(rotate, {
      input: {
        endpointId: of.endpointId,
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      },
    });
    expect(response.errors).toBeUndefined();
    return response.data.rotateWebhookEndpointSecret.signingSecret as string;
  };
  const nextDelivery = async (of: Awaited<ReturnType<typeof subscribe>>) => {
    const { length } = of.receiver.deliveries;
    await startTask(of.workspaceId);
    const delivery = (await of.receiver.received(length + 1))[length];
    if (!delivery) throw new Error("nothing came");
    return delivery;
  };

  mockTest(
    "W13 a delivery within the grace period has a signature of both secrets, the newest first",
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
    "W13 standardwebhooks verifies with either secret, and after the grace period with the new one",
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

  mockTest("W13 the default grace period is a day", async () => {
    await using all = await subscribe(service);
    const fresh = await rotateSecret(all);
    await service.advance(86_400_000 - 1);
    expect(secretsThatSigned(await nextDelivery(all), [fresh, all.secret])).toHaveLength(2);
    await service.advance(1);
    expect(secretsThatSigned(await nextDelivery(all), [fresh, all.secret])).toEqual([fresh]);
  });

  mockTest("W13 a grace period of 0 ends the old secret at once", async () => {
    await using all = await subscribe(service);
    const fresh = await rotateSecret(all, 0);
    const delivery = await nextDelivery(all);
    expect(signatureHeaders(delivery).signatures).toHaveLength(1);
    expect(secretsThatSigned(delivery, [fresh, all.secret])).toEqual([fresh]);
  });

  mockTest("W13 after two rotations every secret signs until its own grace period ends", async () => {
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

  mockTest("W13 a retry is signed with the secrets that are valid at that time", async () => {
    await using all = await subscribe(service, { response: 500 });
    const before = await nextDelivery(all);
    expect(secretsThatSigned(before, [all.secret])).toEqual([all.secret]);
    const fresh = await rotateSecret(all, 0);
    await service.advance("5s");
    const [, retry] = await all.receiver.received(2);
    if (!retry) throw new Error("no retry came");
    expect(secretsThatSigned(retry, [fresh, all.secret])).toEqual([fresh]);
  });

  mockTest(
    "W13 gracePeriodSeconds outside 0 to 604800 is rejected with the interface's message",
    async () => {
      await using all = await subscribe(service);
      for (const gracePeriodSeconds of [-1, 604_801]) {
        const response = await all.call(rotate, {
          input: { endpointId: all.endpointId, gracePeriodSeconds },
        });
        expect(response.errors?.[0]?.message).toBe(
          "Secret grace period must be between 0 and 604800 seconds",
        );
      }
      for (const gracePeriodSeconds of [0, 604_800]) {
        const response = await all.call(rotate, {
          input: { endpointId: all.endpointId, gracePeriodSeconds },
        });
        expect(response.errors).toBeUndefined();
      }
    },
  );

  mockTest(
    "W13 the fault old-secret-only omits the new secret's signature during the grace period",
    async () => {
      await using all = await subscribe(service);
      const fresh = await rotateSecret(all);
      await service.control.setFaults({
        deliveries: [{ endpointId: all.endpointId, instructions: [{ kind: "old-secret-only" }] }],
      });
      expect(secretsThatSigned(await nextDelivery(all), [fresh, all.secret])).toEqual([all.secret]);
      expect(secretsThatSigned(await nextDelivery(all), [fresh, all.secret])).toEqual([fresh, all.secret]);
    },
  );
});
