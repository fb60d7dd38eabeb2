import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../../../mock-server/rules/service-error.ts";
import { decodeIterator, encodeIterator } from "../../../../../mock-server/rules/webhooks/page-iterator.ts";

const workspaceId = "019bc186-de00-7000-8000-2063607191f4";
const lastId = "019bc186-de00-7000-8000-479e3dd791a5";

describe("decodeIterator", () => {
  it("returns the encoded id", () => {
    const iterator = encodeIterator(workspaceId, lastId);
    expect(iterator).toMatch(/^[\w-]+$/);
    expect(decodeIterator(workspaceId, iterator)).toBe(lastId);
  });

  it("throws for a cursor of another workspace", () => {
    const iterator = encodeIterator(workspaceId, lastId);
    expect(() => decodeIterator(lastId, iterator)).toThrow("Invalid iterator");
  });

  it("throws for another spelling of a cursor, and for one without an id", () => {
    const iterator = encodeIterator(workspaceId, lastId);
    const others = ["=", "!", " ", "\n"].map((more) => iterator + more);
    for (const other of [...others, encodeIterator(workspaceId, "undefined"), ""]) {
      expect(() => decodeIterator(workspaceId, other)).toThrow("Invalid iterator");
    }
  });

  it("throws a ServiceError for any other text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(() => decodeIterator(workspaceId, text)).toThrow(ServiceError);
      }),
    );
  });
});
