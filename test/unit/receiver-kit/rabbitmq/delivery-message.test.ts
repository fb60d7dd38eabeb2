import { describe, expect, it } from "vitest";
import { readJson } from "../../../../receiver-kit/event/parse-delivery.ts";
import * as format from "../../../../receiver-kit/rabbitmq/delivery-message.ts";

const webhook = { id: "msg-1", timestamp: 1_780_272_120, body: Buffer.from("{}"), secretIndex: 0 };
const delivery: format.QueuedDelivery = { webhook, source: "default", traceparent: undefined };
const properties = format.encodeDelivery(delivery);
const decode = (changed: object) =>
  format.decodeDelivery({ content: webhook.body, properties: { ...properties, ...changed } });

// What a message of a tenant is as a whole: test/integration/formats.
describe("a queued delivery", () => {
  it("has no header for a trace or a tenant without one", () => {
    expect(Object.keys(JSON.parse(JSON.stringify(properties.headers)))).toEqual(["secret-index"]);
    expect(decode({})).toEqual(delivery);
    expect(Object.keys(decode({})?.webhook ?? {})).not.toContain("tenant");
  });

  it("survives a restart of the broker, also when it is moved to another queue", () => {
    const moved = format.movedMessage({ properties } as never, {});
    expect([properties.persistent, moved.persistent]).toEqual([true, true]);
  });

  it("is rejected in the format of a newer release, and read where only a header was added", () => {
    expect(() => decode({ type: "workspace-tasks.delivery.2" })).toThrow(
      expect.objectContaining({ code: "RELEASE_TOO_OLD", message: expect.stringContaining("version 2") }),
    );
    expect(decode({ headers: { ...properties.headers, added: "unknown" } })).toEqual(delivery);
  });

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
    { headers: { "secret-index": "0" } },
    { headers: { "secret-index": 0, tenant: "acme" } },
    { headers: { "secret-index": 0, tenant: "", "tenant-workspace-id": "w" } },
  ])("is none with %j", (changed) => {
    expect(decode(changed)).toBeUndefined();
  });

  it.each([
    ['{"taskId":"task-1"}', "task-1"],
    ['{"taskId":""}', "msg-1"],
    ['{"taskId":7}', "msg-1"],
    ["null", "msg-1"],
    ["no JSON", "msg-1"],
  ])("with the body %s belongs to the task %s", (body, task) => {
    expect(format.taskOf("msg-1", readJson(Buffer.from(body)))).toBe(task);
  });
});
