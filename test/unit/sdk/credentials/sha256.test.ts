import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { sha256 } from "../../../../sdk/credentials/sha256.ts";

it("the hash of a text is the one of node:crypto", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      expect(sha256(text)).toBe(createHash("sha256").update(text).digest("hex"));
    }),
  );
});
