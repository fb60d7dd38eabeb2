import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { hmacSha256, sha256 } from "../../../../../mock-server/inspector/page/src/hmac.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

it("sha256 equals Node's for any bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (message) => {
      expect(hex(sha256(message))).toBe(createHash("sha256").update(message).digest("hex"));
    }),
  );
});

it("hmacSha256 equals Node's, also for keys that are longer than a block", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 140 }), fc.uint8Array({ maxLength: 300 }), (key, message) => {
      expect(hex(hmacSha256(key, message))).toBe(createHmac("sha256", key).update(message).digest("hex"));
    }),
  );
});
