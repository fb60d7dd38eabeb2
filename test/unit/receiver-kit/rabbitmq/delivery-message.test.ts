import { describe, expect, it } from "vitest";
import { readJson } from "../../../../receiver-kit/event/parse-delivery.ts";
import {
  decodeDelivery,
  encodeDelivery,
  type QueuedDelivery,
  routingKeyOf,
} from "../../../../receiver-kit/rabbitmq/delivery-message.ts";

const webhook = { id: "msg-1", timestamp: 1_780_272_120, body: Buffer.from("{}"), secretIndex: 0 };
const delivery: QueuedDelivery = {
  ...{ webhook, source: "default", traceparent: undefined, receivedAtMs: 1_780_272_120_687 },
};
const messageOf = (properties: object) => ({
  ...{ content: webhook.body, fields: { deliveryTag: 1, redelivered: false }, properties },
});
const roundTrip = (queued: QueuedDelivery) => decodeDelivery(messageOf(encodeDelivery(queued, "1")));

describe("a queued delivery", () => {
  it("is known to a consumer when the clock of its intake has fractions of a millisecond", () => {
    expect(roundTrip({ ...delivery, receivedAtMs: 1_780_272_120_687.606 })).toEqual(delivery);
  });

  it("has all that the inbox stores in its properties, and survives a restart of the broker", () => {
    const tenant = { id: "acme", workspaceId: "workspace-1" };
    const traced = { ...delivery, traceparent: "00-1", webhook: { ...webhook, tenant } };
    expect(encodeDelivery(traced, "7")).toEqual({
      ...{ persistent: true, mandatory: true, messageId: "msg-1", correlationId: "7", appId: "default" },
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
    const { headers = {} } = encodeDelivery(delivery, "1");
    expect(Object.keys(headers)).toEqual(["oldest-release", "secret-index", "received-at-ms"]);
    expect(roundTrip(delivery)).toEqual(delivery);
    expect(Object.keys(roundTrip(delivery)?.webhook ?? {})).not.toContain("tenant");
  });
});

describe("a delivery in the format of a newer release", () => {
  const newer = { ...encodeDelivery(delivery, "1"), type: "workspace-tasks.delivery.2" };

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
    expect(decodeDelivery(messageOf({ ...encodeDelivery(delivery, "1"), headers }))).toEqual(delivery);
  });
});

describe("a message that is no delivery", () => {
  const headers = { "secret-index": 0, "received-at-ms": 1_780_272_120_687 };
  it.each([
    ["another type", { type: "delivery.1" }],
    ["a version that was never published", { type: "workspace-tasks.delivery.0" }],
    ["a version that is no number", { type: "workspace-tasks.delivery.one" }],
    ["no type", { type: undefined }],
    ["no id", { messageId: undefined }],
    ["an empty id", { messageId: "" }],
    ["no source", { appId: undefined }],
    ["an empty source", { appId: "" }],
    ["no timestamp", { timestamp: undefined }],
    ["a negative timestamp", { timestamp: -1 }],
    ["a fractional timestamp", { timestamp: 1.5 }],
    ["no headers", { headers: undefined }],
    ["no secret index", { headers: { ...headers, "secret-index": undefined } }],
    ["a negative secret index", { headers: { ...headers, "secret-index": -1 } }],
    ["a text as secret index", { headers: { ...headers, "secret-index": "0" } }],
    ["no time of receipt", { headers: { ...headers, "received-at-ms": undefined } }],
    ["a tenant without its workspace", { headers: { ...headers, tenant: "acme" } }],
    ["an empty tenant", { headers: { ...headers, tenant: "", "tenant-workspace-id": "w" } }],
    ["an empty workspace", { headers: { ...headers, tenant: "acme", "tenant-workspace-id": "" } }],
  ])("is one with %s", (_, changed) => {
    const properties = encodeDelivery(delivery, "1");
    expect(decodeDelivery(messageOf(properties))).toEqual(delivery);
    expect(decodeDelivery(messageOf({ ...properties, ...changed }))).toBeUndefined();
  });

  it.each([0, 3])("is not one with the secret index %i, or with a trace that is no text", (secretIndex) => {
    const properties = encodeDelivery(delivery, "1");
    const other = { ...headers, "secret-index": secretIndex, traceparent: 5 };
    expect(decodeDelivery(messageOf({ ...properties, headers: other }))).toMatchObject({
      ...{ webhook: { secretIndex }, traceparent: undefined },
    });
  });
});

describe("the routing key of a delivery", () => {
  it.each([
    ['{"taskId":"task-1"}', "task-1"],
    ['{"taskId":""}', "msg-1"],
    ['{"taskId":7}', "msg-1"],
    ["{}", "msg-1"],
    ["null", "msg-1"],
    ["no JSON", "msg-1"],
    ["", "msg-1"],
  ])("of %s is %s", (body, key) => {
    expect(routingKeyOf("msg-1", readJson(Buffer.from(body)))).toBe(key);
  });

  it("is read from the part of a buffer that the body is", () => {
    const bytes = new TextEncoder().encode('xx{"taskId":"task-1"}xx');
    expect(routingKeyOf("msg-1", readJson(bytes.subarray(2, -2)))).toBe("task-1");
  });
});
