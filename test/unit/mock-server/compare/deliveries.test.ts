import { Webhook } from "standardwebhooks";
import { beforeAll, describe, expect, it } from "vitest";
import type { SettingsChanges } from "workspace-tasks/mock-server";
import { createMockServer } from "workspace-tasks/mock-server";
import { evaluateRecord } from "../../../../mock-server/compare/compare-service.ts";
import { parseCaptured } from "../../../../mock-server/compare/observe/captured-file.ts";
import type { Observation } from "../../../../mock-server/compare/observe/observation.ts";
import {
  type CapturedDelivery,
  observeDeliveries,
} from "../../../../mock-server/compare/observe/observe-delivery.ts";
import { observationLine } from "../../../../mock-server/compare/record.ts";
import { createVirtualClock } from "../../../../mock-server/time/virtual-clock.ts";
import { type CapturedDeliveries, captureDeliveries } from "../../../support/capture-deliveries.ts";
import { compare } from "../../../support/compared-service.ts";

const plan = { permissions: new Set(["read"] as const), keys: new Set([] as never[]), hasGateway: false };

const toObservation = ({
  deliveries,
  secrets,
}: Pick<CapturedDeliveries, "deliveries" | "secrets">): Observation => ({
  probe: "deliveries.captured",
  atMs: 0,
  outcome: "deliveries",
  deliveries: observeDeliveries(deliveries, secrets),
});

async function refutedIn(
  captured: Pick<CapturedDeliveries, "deliveries" | "secrets">,
  settings?: SettingsChanges,
) {
  const report = await evaluateRecord([toObservation(captured)], plan, settings);
  const own = report.rules.filter(({ id }) => id.startsWith("deliveries."));
  const ids = (verdict: string) => own.filter((rule) => rule.verdict === verdict).map(({ id }) => id);
  return { refuted: ids("refuted"), confirmed: ids("confirmed"), report };
}

let captured: CapturedDeliveries;
beforeAll(async () => {
  captured = await captureDeliveries();
});

/** Changes each delivery, and signs it again. */
function changed(
  edit: (event: Record<string, unknown>, delivery: CapturedDelivery) => void,
): CapturedDeliveries {
  const signer = new Webhook(captured.secrets[0] ?? "");
  const deliveries = captured.deliveries.map((delivery) => {
    const event = JSON.parse(delivery.body.toString("utf8")) as Record<string, unknown>;
    const copy = { ...delivery, headers: { ...delivery.headers } };
    edit(event, copy);
    const body = JSON.stringify(event);
    const { "webhook-id": id = "", "webhook-timestamp": seconds } = delivery.headers;
    const signature = signer.sign(id, new Date(Number(seconds) * 1_000), body);
    return {
      ...copy,
      headers: {
        "webhook-signature": signature,
        ...copy.headers,
        ...(body === delivery.body.toString() ? {} : { "webhook-signature": signature }),
      },
      body: Buffer.from(body),
    };
  });
  return { ...captured, deliveries };
}

const withHeaders = (edit: (headers: Record<string, string>) => void) =>
  captured.deliveries.map((delivery) => {
    const headers = { ...delivery.headers };
    edit(headers);
    return { ...delivery, headers };
  });

describe("compare with deliveries", () => {
  it("deliveries of an equal service have no refuted rule", async () => {
    const { refuted, confirmed } = await refutedIn(captured);
    expect(refuted).toEqual([]);
    expect(confirmed).toEqual(
      expect.arrayContaining([
        "deliveries.signature",
        "deliveries.retry-waits",
        "deliveries.customer-errors",
        "deliveries.stages",
        "deliveries.payload-documents.synced",
      ]),
    );
  });

  it.each<[string, (headers: Record<string, string>) => void]>([
    [
      "deliveries.signature",
      (headers) => {
        headers["webhook-signature"] = `v2,${Buffer.alloc(32).toString("base64")}`;
      },
    ],
    [
      "deliveries.signature",
      (headers) => {
        headers["webhook-signature"] = (headers["webhook-signature"] ?? "").replace("v1,", "v1,A");
      },
    ],
    [
      "deliveries.headers",
      (headers) => {
        delete headers["webhook-id"];
      },
    ],
    [
      "deliveries.headers",
      (headers) => {
        headers["webhook-attempt"] = "1";
      },
    ],
    [
      "deliveries.timestamp",
      (headers) => {
        headers["webhook-timestamp"] += "000";
      },
    ],
    [
      "deliveries.content-type",
      (headers) => {
        headers["content-type"] = "text/plain";
      },
    ],
  ])("%s names changed headers", async (rule, edit) => {
    const { refuted } = await refutedIn({ ...captured, deliveries: withHeaders(edit) });
    expect(refuted).toContain(rule);
  });

  it.each<[string, (event: Record<string, unknown>) => void]>([
    [
      "deliveries.payload-task.running",
      (event) => {
        if (event["event"] === "task.running") delete event["clientId"];
      },
    ],
    [
      "deliveries.payload-task.completed",
      (event) => {
        if (event["event"] === "task.completed") event["taskId"] = 7;
      },
    ],
    [
      "deliveries.payload-task.failed",
      (event) => {
        if (event["event"] === "task.failed") event["retryable"] = true;
      },
    ],
    [
      "deliveries.payload-documents.synced",
      (event) => {
        event["files"] = event["documents"];
        delete event["documents"];
      },
    ],
    [
      "deliveries.names",
      (event) => {
        if (event["event"] === "documents.synced") event["event"] = "documents.pulled";
      },
    ],
    [
      "deliveries.status",
      (event) => {
        event["version"] = "3";
      },
    ],
    [
      "deliveries.stages",
      (event) => {
        if (event["subTaskType"]) event["subTaskType"] = "intake";
      },
    ],
    [
      "deliveries.customer-errors",
      (event) => {
        if (event["customerError"])
          event["customerError"] = { code: "OTHER", action: { type: "WAIT", connectionId: null } };
      },
    ],
  ])("%s names a changed body", async (rule, edit) => {
    expect((await refutedIn(changed(edit))).refuted).toContain(rule);
  });

  it("events of a task that arrive in another order are refuted, unless the first attempt was not captured", async () => {
    const arrivals = captured.deliveries.map(({ receivedAtMs }) => receivedAtMs);
    const ofTask = captured.deliveries.filter(({ body }) => body.includes('"TAX_PREP"')).slice(0, 3);
    const [first, , third] = ofTask;
    const swapped = (laterMs: number) =>
      captured.deliveries
        .map((each) =>
          each === first && third ? { ...each, receivedAtMs: third.receivedAtMs + laterMs } : each,
        )
        .toSorted((a, b) => a.receivedAtMs - b.receivedAtMs);
    expect(arrivals.length).toBeGreaterThan(10);
    expect((await refutedIn({ ...captured, deliveries: swapped(500) })).refuted).toEqual([
      "deliveries.order",
    ]);
    expect((await refutedIn({ ...captured, deliveries: swapped(20_000) })).refuted).toEqual([]);
  });

  it("events of nearly the same time, and documents of several clients, have no order", async () => {
    let count = 0;
    const quick = changed((event) => {
      count += 1;
      const earlierMs = event["event"] === "documents.synced" ? count * 60_000 : count % 2 ? 0 : 900;
      event["occurredAt"] = new Date(Date.parse(String(event["occurredAt"])) - earlierMs).toISOString();
    });
    expect((await refutedIn(quick)).refuted).not.toContain("deliveries.order");
  });

  it("a receiver that missed the first attempts sees sums of the schedule", async () => {
    const [first] = captured.deliveries;
    const id = first?.headers["webhook-id"];
    const missed = captured.deliveries.filter((each) => each !== first);
    expect(missed.filter(({ headers }) => headers["webhook-id"] === id)).toHaveLength(2);
    expect((await refutedIn({ ...captured, deliveries: missed })).refuted).toEqual([]);
  });

  it("a delivery that is sent again after it was accepted says nothing about retries", async () => {
    const accepted = captured.deliveries.map((each) => ({ ...each, responded: 200 }));
    const { report } = await refutedIn({ ...captured, deliveries: accepted });
    expect(report.rules.find(({ id }) => id === "deliveries.retry-waits")?.received).toBe(
      "no retry arrived while the receiver listened",
    );
  });

  it("a clock that is an hour off is named, and a time that is not that of the attempt is refuted", async () => {
    const later = captured.deliveries.map((each) => ({
      ...each,
      receivedAtMs: each.receivedAtMs + 3_600_000,
    }));
    const { refuted, report } = await refutedIn({ ...captured, deliveries: later });
    expect(refuted).toEqual([]);
    expect(report.rules.find(({ id }) => id === "deliveries.timestamp")?.received).toMatch(
      /differ by about 3600 s/,
    );
    const [first] = captured.deliveries;
    const ofFirst = withHeaders((headers) => {
      if (headers["webhook-id"] === first?.headers["webhook-id"])
        headers["webhook-timestamp"] = first?.headers["webhook-timestamp"] ?? "";
    });
    expect((await refutedIn({ ...captured, deliveries: ofFirst })).refuted).toContain("deliveries.timestamp");
  });

  it("the order of secrets that a user passes does not matter for a rotation", async () => {
    const newer = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
    const [older = ""] = captured.secrets;
    const deliveries = captured.deliveries.map((each, index) => {
      if (index < captured.deliveries.length / 2) return each;
      const { "webhook-id": id = "", "webhook-timestamp": seconds, "webhook-signature": old } = each.headers;
      const signature = new Webhook(newer).sign(
        id,
        new Date(Number(seconds) * 1_000),
        each.body.toString("utf8"),
      );
      return { ...each, headers: { ...each.headers, "webhook-signature": `${signature} ${old}` } };
    });
    for (const secrets of [
      [newer, older],
      [older, newer],
    ])
      expect((await refutedIn({ deliveries, secrets })).confirmed).toContain("deliveries.rotation");
    const reversed = deliveries.map((each) => ({
      ...each,
      headers: {
        ...each.headers,
        "webhook-signature": (each.headers["webhook-signature"] ?? "").split(" ").toReversed().join(" "),
      },
    }));
    expect((await refutedIn({ deliveries: reversed, secrets: [newer, older] })).refuted).toEqual([
      "deliveries.rotation",
    ]);
  });

  it("another retry schedule is refuted, and written as a setting with which it is confirmed", async () => {
    const other = await captureDeliveries({ delivery: { scheduleMs: [0, 60_000, 120_000, 240_000] } });
    const { refuted, report } = await refutedIn(other);
    expect(refuted).toEqual(["deliveries.retry-waits"]);
    expect(report.notExpressed).toEqual([]);
    expect((await refutedIn(other, report.settings)).refuted).toEqual([]);
  });

  it("an observation of deliveries holds no text of a body, and no secret", () => {
    const line = observationLine(toObservation(captured));
    expect([...captured.texts, ...captured.secrets].filter((text) => line.includes(text))).toEqual([]);
    expect(captured.texts.length).toBeGreaterThan(20);
  });

  it("a file of captured deliveries is read, and a wrong line is named", () => {
    const [delivery] = captured.deliveries;
    const line = JSON.stringify({
      receivedAt: "2026-01-15T12:00:00Z",
      headers: { "Webhook-Id": "a" },
      body: delivery?.body.toString("base64"),
    });
    expect(parseCaptured(`${line}\n`)).toMatchObject([{ headers: { "webhook-id": "a" }, responded: null }]);
    expect(() => parseCaptured(`${line}\n{}`)).toThrow("line 2 is not");
  });

  it("a run registers a receiver, awaits its deliveries and removes the endpoint", async () => {
    const clock = createVirtualClock();
    const deliveries: CapturedDelivery[] = [];
    const publicUrl = "https://tunnel.example/hooks";
    const receive = async (request: Request) => {
      const headers = Object.fromEntries(request.headers);
      deliveries.push({
        receivedAtMs: clock.now(),
        headers,
        body: Buffer.from(await request.arrayBuffer()),
        responded: 204,
        path: "deliveries",
      });
      return new Response(null, { status: 204 });
    };
    const receivers = new Map([[`${publicUrl}/workspace-tasks-compare/test/deliveries`, receive]]);
    await using mock = await createMockServer({ listen: false, clock, receivers, deliverOnly: "loopback" });
    const keys = { admin: mock.apiKey } as never;
    // A user starts a task while the run waits.
    clock.schedule(190_000, () => void mock.control.startTask({ taskType: "TAX_PREP" }));
    const report = await compare(
      { mock, clock, keys, [Symbol.asyncDispose]: async () => {} },
      {
        permissions: ["read", "write"],
        keys: ["admin"],
        listening: { publicUrl, forMs: 600_000, captured: () => deliveries },
      },
    );
    const ofDeliveries = report.rules.filter(({ id }) => id.startsWith("deliveries."));
    expect(ofDeliveries.filter(({ verdict }) => verdict === "refuted")).toEqual([]);
    expect(ofDeliveries.find(({ id }) => id === "deliveries.signature")?.verdict).toBe("confirmed");
    expect((await mock.control.listEndpoints()).data).toEqual([]);
  });
});
