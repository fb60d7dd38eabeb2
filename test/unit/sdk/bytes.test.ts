import fc from "fast-check";
import { expect, it } from "vitest";
import { joinBytes, toBase64, utf8 } from "../../../sdk/bytes.ts";

const bytes = fc.uint8Array({ maxLength: 40 });

it("a text becomes the bytes that Buffer makes of it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(Buffer.from(utf8(text))).toEqual(Buffer.from(text));
    }),
  );
});

it("parts are joined in their order, and one alone is not copied", () => {
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 4 }), (parts) => {
      expect(Buffer.from(joinBytes(parts))).toEqual(Buffer.concat(parts));
    }),
  );
  const part = new Uint8Array(3);
  expect(joinBytes([part])).toBe(part);
});

it("bytes become the base64 that Buffer makes of them", () => {
  fc.assert(
    fc.property(bytes, (given) => {
      expect(toBase64(given)).toBe(Buffer.from(given).toString("base64"));
    }),
  );
});
