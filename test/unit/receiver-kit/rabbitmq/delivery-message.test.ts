import { describe, expect, it } from "vitest";
import { readJson } from "../../../../receiver-kit/event/parse-delivery.ts";
import {
  decodeDelivery,
  encodeDelivery,
  type QueuedDelivery,
  taskOf,
} from "../../../../receiver-kit/rabbitmq/delivery-message.ts";

const webhook = { id: "msg-1", timestamp: 1_780_272_120, body: Buffer.from("{}"), secretIndex: 0 };
const delivery: QueuedDelivery = {
  ...{ webhook, source: "default", traceparent: undefined, receivedAtMs: 1_780_272_120_687 },
};
const messageOf = (properties: object) => ({
  ...{ content: webhook.body, fields: { deliveryTag: 1, redelivered: false }, properties },
});
const roundTrip = (queued: QueuedDelivery) => decodeDelivery(messageOf(encodeDelivery(queued)));

describe("a queued delivery", () => {
  it("is known to a consumer when the clock of its intake has fractions of a millisecond", () => {
    expect(roundTrip({ ...delivery, receivedAtMs: 1_780_272_120_687.606 })).toEqual(delivery);
  });

  it("has all that the inbox stores in its properties, and survives a restart of the broker", () => {
    const tenant = { id: "acme", workspaceId: "workspace-1" };
    const traced = { ...delivery, traceparent: "00-1", webhook: { ...webhook, tenant } };
    expect(encodeDelivery(traced)).toEqual({
      ...{ persistent: true, mandatory: true, messageId: "msg-1", correlationId: "", appId: "default" },
      ...{ type: "workspace-tasks.delivery.1", timestamp: 1_780_272_120, contentType: "application/json" },
      headers: {
        "oldest-release": "0.1.0",
        "secret-index": 0,
        "received-at-ms": 1_780_272_120_687,
        traceparent: "00-1",
        tenant: "acme",
        "tenant-workspace-id": "workspace-1",
      },
    });
    expect(roundTrip(traced)).toEqual(traced);
  });

  it("has no header for a trace or a tenant without one", () => {
    const { headers } = JSON.parse(JSON.stringify(encodeDelivery(delivery)));
    expect(Object.keys(headers)).toEqual(["oldest-release", "secret-index", "received-at-ms"]);
    expect(roundTrip(delivery)).toEqual(delivery);
    expect(Object.keys(roundTrip(delivery)?.webhook ?? {})).not.toContain("tenant");
  });
});

describe("a delivery in the format of a newer release", () => {
  const newer = { ...encodeDelivery(delivery), type: "workspace-tasks.delivery.2" };

  it("is rejected with an error that names the release to run", () => {
    const headers = { ...newer.headers, "oldest-release": "0.4.0" };
    expect(() => decodeDelivery(messageOf({ ...newer, headers }))).toThrow(
      expect.objectContaining({
        code: "RELEASE_TOO_OLD",
        message: expect.stringContaining("run release 0.4.0 or newer"),
      }),
    );
    expect(() => decodeDelivery(messageOf({ ...newer, headers: {} }))).toThrow("run that release in this");
  });

  it("is read where only a header was added", () => {
    const headers = { ...newer.headers, added: "unknown" };
    expect(decodeDelivery(messageOf({ ...encodeDelivery(delivery), headers }))).toEqual(delivery);
  });
});

describe("a message that is no delivery", () => {
  const headers = { "secret-index": 0, "received-at-ms": 1_780_272_120_687 };
  it.each([
    { type: "delivery.1" },
    { type: "workspace-tasks.delivery.0" },
    { type: "workspace-tasks.delivery.one" },
    { type: undefined },
    { messageId: undefined },
    { appId: "" },
    { timestamp: -1 },
    { timestamp: 1.5 },
    { headers: undefined },
    { headers: { ...headers, "secret-index": "0" } },
    { headers: { ...headers, "received-at-ms": undefined } },
    { headers: { ...headers, tenant: "acme" } },
    { headers: { ...headers, tenant: "", "tenant-workspace-id": "w" } },
  ])("is one with %j", (changed) => {
    const properties = encodeDelivery(delivery);
    expect(decodeDelivery(messageOf(properties))).toEqual(delivery);
    expect(decodeDelivery(messageOf({ ...properties, ...changed }))).toBeUndefined();
  });
});

describe("the task of a delivery", () => {
  it.each([
    ['{"taskId":"task-1"}', "task-1"],
    ['{"taskId":""}', "msg-1"],
    ['{"taskId":7}', "msg-1"],
    ["null", "msg-1"],
    ["no JSON", "msg-1"],
  ])("of %s is %s", (body, key) => {
    expect(taskOf("msg-1", readJson(Buffer.from(body)))).toBe(key);
  });
});
