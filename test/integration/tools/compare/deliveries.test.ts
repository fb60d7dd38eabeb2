import type { SettingsChanges } from "@workspace-tasks/mock-server";
import { Webhook } from "standardwebhooks";
import { beforeAll, describe, expect, it } from "vitest";
import {
  type Captured,
  type CapturedDelivery,
  parseCaptured,
} from "../../../../mock-server/tools/compare/ask/deliveries.ts";
import { compareFindings } from "../../../../mock-server/tools/compare/compare-service.ts";
import { findingsInFile, recordLine } from "../../../../mock-server/tools/compare/findings.ts";
import { captureDeliveries } from "../../../support/capture-deliveries.ts";
import { differencesIn, idsOf, reasonOf, refutedIn } from "../../../support/compared-service.ts";

async function compareWith(captured: Captured, settings?: SettingsChanges) {
  const report = await compareFindings(await findingsInFile(captured), settings);
  const confirmed = idsOf(report, "confirmed");
  return { differences: differencesIn(report), confirmed, report };
}

let captured: Captured;
beforeAll(async () => {
  captured = await captureDeliveries({}, 11);
});

/** Changes each delivery, and signs it again. */
function changed(edit: (event: Record<string, unknown>, delivery: CapturedDelivery) => void): Captured {
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
  it("deliveries of an equal service have no difference", async () => {
    const { differences, confirmed } = await compareWith(captured);
    expect(differences).toEqual([]);
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

  it.each<[rule: string, name: string, edit: (value: string) => string]>([
    ["deliveries.signature", "webhook-signature", () => `v2,${Buffer.alloc(32).toString("base64")}`],
    ["deliveries.signature", "webhook-signature", (value) => value.replace("v1,", "v1,A")],
    ["deliveries.headers", "webhook-id", () => ""],
    ["deliveries.timestamp", "webhook-timestamp", (seconds) => `${seconds}000`],
    ["deliveries.content-type", "content-type", () => "text/plain"],
  ])("%s names a changed header %s", async (rule, name, edit) => {
    const deliveries = withHeaders((headers) => {
      headers[name] = edit(headers[name] ?? "");
      if (headers[name] === "") delete headers[name];
    });
    expect((await compareWith({ ...captured, deliveries })).differences).toContain(rule);
  });

  it("what the interface leaves open differs from an assumption, and what it says is refuted", async () => {
    const verdictsOf = async (edit: Parameters<typeof changed>[0]) => {
      const { report, differences } = await compareWith(changed(edit));
      return [differences, refutedIn(report)];
    };
    const open = await verdictsOf((event, { headers }) => {
      Object.assign(headers, { "webhook-attempt": "1", "content-type": "application/cloudevents+json" });
      Object.assign(event, { tenant: "a" });
      if (event["event"] === "documents.synced")
        Object.assign(event, { event: "client.created", version: "1" });
    });
    expect(open).toEqual([expect.arrayContaining(["deliveries.names", "deliveries.headers"]), []]);
    const wrong = await verdictsOf((event) => {
      if (event["event"] === "documents.synced") delete event["providerKey"];
      if (event["event"] === "task.running") Object.assign(event, { taskId: null, status: "STARTED" });
    });
    expect(wrong[1]).toEqual([
      "deliveries.payload-task.running",
      "deliveries.payload-documents.synced",
      "deliveries.status",
    ]);
  });

  it("a receiver that missed the first attempts shows no retry schedule", async () => {
    const [first] = captured.deliveries;
    const deliveries = captured.deliveries.filter((each) => each !== first);
    const { differences, report } = await compareWith({ ...captured, deliveries });
    expect(differences).toEqual([]);
    expect(reasonOf(report, "deliveries.retry-waits")).toBe("no retry arrived while the receiver listened");
  });

  it("a delivery that is sent again after it was accepted says nothing about retries", async () => {
    const accepted = captured.deliveries.map((each) => ({ ...each, responded: 200 }));
    const { report } = await compareWith({ ...captured, deliveries: accepted });
    expect(reasonOf(report, "deliveries.retry-waits")).toBe("no retry arrived while the receiver listened");
  });

  it("a clock that is an hour off is named, and a time that is not that of the attempt is refuted", async () => {
    const later = captured.deliveries.map((each) => ({
      ...each,
      receivedAtMs: each.receivedAtMs + 3_600_000,
    }));
    const { differences, report } = await compareWith({ ...captured, deliveries: later });
    expect(differences).toEqual([]);
    expect(reasonOf(report, "deliveries.timestamp")).toMatch(/differ by about 3600 s/);
    const [first] = captured.deliveries;
    const ofFirst = withHeaders((headers) => {
      if (headers["webhook-id"] === first?.headers["webhook-id"])
        headers["webhook-timestamp"] = first?.headers["webhook-timestamp"] ?? "";
    });
    expect((await compareWith({ ...captured, deliveries: ofFirst })).differences).toContain(
      "deliveries.timestamp",
    );
  });

  it("during a rotation the newest secret signs first", async () => {
    expect((await compareWith(captured)).confirmed).toContain("deliveries.rotation");
    const deliveries = withHeaders((headers) => {
      headers["webhook-signature"] = (headers["webhook-signature"] ?? "").split(" ").toReversed().join(" ");
    });
    expect((await compareWith({ ...captured, deliveries })).differences).toEqual(["deliveries.rotation"]);
  });

  it("another retry schedule is refuted, and written as a setting with which it is confirmed", async () => {
    const other = await captureDeliveries({ delivery: { scheduleMs: [0, 60_000, 120_000, 240_000] } });
    const { differences, report } = await compareWith(other);
    expect(differences).toEqual(["deliveries.retry-waits"]);
    expect(report.notExpressed).toEqual([]);
    expect((await compareWith(other, report.settings)).differences).toEqual([]);
  });

  it("a retry that the mock would not send differs", async () => {
    const shorter = { delivery: { scheduleMs: [0, 5_000, 300_000] } };
    expect((await compareWith(captured, shorter)).differences).toEqual(["deliveries.retry-waits"]);
  });

  it("a record of deliveries holds no text of a body, and no secret", async () => {
    const record = (await findingsInFile(captured)).map(recordLine).join("");
    const texts = captured.deliveries.flatMap(({ body }) => textsOf(JSON.parse(body.toString("utf8"))));
    const ofClients = texts.filter((text) => /-.*-.*-|T.*Z$|example/.test(text));
    expect(ofClients.length).toBeGreaterThan(20);
    expect([...ofClients, ...captured.secrets].filter((text) => record.includes(text))).toEqual([]);
  });

  it("a file of captured deliveries is read, and a wrong line is named", () => {
    const [delivery] = captured.deliveries;
    const line = JSON.stringify({
      receivedAt: "2026-01-15T12:00:00Z",
      headers: { "Webhook-Id": "a" },
      body: delivery?.body.toString("base64"),
    });
    expect(parseCaptured(`${line}\n`)).toMatchObject([{ headers: { "webhook-id": "a" }, responded: null }]);
    // An attempt that was written down twice is one.
    expect(parseCaptured(`${line}\n${line}`)).toHaveLength(1);
    expect(() => parseCaptured(`${line}\n{}`)).toThrow("line 2 is not");
  });
});

function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}
