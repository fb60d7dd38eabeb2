import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ServiceError } from "../../../../../mock-server/rules/service-error.ts";
import { decodeIterator, encodeIterator } from "../../../../../mock-server/rules/webhooks/page-iterator.ts";

const workspaceId = "019bc186-de00-7000-8000-2063607191f4";
const lastId = "019bc186-de00-7000-8000-479e3dd791a5";

describe("decodeIterator", () => {
  test("gives back the id that was encoded", () => {
    const iterator = encodeIterator("webhook-endpoints", workspaceId, lastId);
    expect(iterator).toMatch(/^[\w-]+$/);
    expect(decodeIterator("webhook-endpoints", workspaceId, iterator)).toBe(lastId);
  });

  test("refuses a cursor of another list or workspace", () => {
    const iterator = encodeIterator("webhook-endpoints", workspaceId, lastId);
    expect(() => decodeIterator("tasks", workspaceId, iterator)).toThrow("Invalid iterator");
    expect(() => decodeIterator("webhook-endpoints", lastId, iterator)).toThrow("Invalid iterator");
  });

  test("refuses anything else with the service's own error", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(() => decodeIterator("webhook-endpoints", workspaceId, text)).toThrow(ServiceError);
      }),
    );
  });
});
