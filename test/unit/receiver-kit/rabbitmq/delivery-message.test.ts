import { describe, expect, it } from "vitest";
import { decodeDelivery, encodeDelivery } from "../../../../receiver-kit/rabbitmq/delivery-message.ts";

describe("a queued delivery", () => {
  it("is known to a consumer when the clock of its intake has fractions of a millisecond", () => {
    const webhook = { id: "msg-1", timestamp: 1_780_272_120, body: Buffer.from("{}"), secretIndex: 0 };
    const delivery = {
      webhook,
      source: "default",
      traceparent: undefined,
      receivedAtMs: 1_780_272_120_687.606,
    };
    const properties = encodeDelivery(delivery, "1");
    const message = { content: webhook.body, fields: { deliveryTag: 1, redelivered: false }, properties };
    expect(decodeDelivery(message)).toEqual({ ...delivery, receivedAtMs: 1_780_272_120_687 });
  });
});
