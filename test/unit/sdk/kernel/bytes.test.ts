import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as bytes from "../../../../sdk/kernel/bytes.ts";

const anyBytes = fc.uint8Array({ maxLength: 300 });

describe("bytes without Buffer", () => {
  it("are base64, base64url and text as Buffer has them", () => {
    fc.assert(
      fc.property(anyBytes, (given) => {
        const buffer = Buffer.from(given);
        expect(bytes.toBase64(given)).toBe(buffer.toString("base64"));
        expect(bytes.toBase64Url(given)).toBe(buffer.toString("base64url"));
        expect(bytes.textOfUtf8(given)).toBe(buffer.toString("utf8"));
        expect([...bytes.fromHex(buffer.toString("hex"))]).toEqual([...given]);
      }),
    );
  });

  it("are read from base64 in both alphabets, with padding or without", () => {
    fc.assert(
      fc.property(anyBytes, (given) => {
        const padded = Buffer.from(given).toString("base64");
        for (const text of [padded, padded.replaceAll("=", ""), bytes.toBase64Url(given)])
          expect([...(bytes.fromBase64(text) ?? [])]).toEqual([...given]);
      }),
    );
  });

  it("are encoded in parts when they are many", () => {
    const many = Uint8Array.from({ length: 100_001 }, (_, at) => at % 256);
    expect(bytes.toBase64(many)).toBe(Buffer.from(many).toString("base64"));
    expect(bytes.fromBase64(bytes.toBase64(many))?.length).toBe(many.length);
  });

  it.each(["a", "ab=c", "é", "{}"])("are not read from %j", (text) => {
    expect(bytes.fromBase64(text)).toBeUndefined();
  });

  it("are collected from parts of any size, and a part that fills its buffer is not copied", () => {
    fc.assert(
      fc.property(fc.array(anyBytes), (parts) => {
        const buffer = new bytes.ByteBuffer();
        for (const part of parts) buffer.append(part);
        const collected = buffer.toBytes();
        expect([...collected]).toEqual(parts.flatMap((part) => [...part]));
        expect(buffer.length).toBe(collected.length);
      }),
    );
    const whole = bytes.utf8("whole");
    const buffer = new bytes.ByteBuffer();
    buffer.append(whole);
    expect(buffer.toBytes()).toBe(whole);
    buffer.append(bytes.utf8("!"));
    expect(bytes.textOfUtf8(whole)).toBe("whole");
    expect(bytes.textOfUtf8(buffer.toBytes())).toBe("whole!");
  });

  it("keep no larger buffer in memory of which they are a part", () => {
    const buffer = new bytes.ByteBuffer();
    buffer.append(new Uint8Array(65_536).subarray(10, 11));
    expect(buffer.toBytes().buffer.byteLength).toBe(1);
  });

  it("are joined, and a single part is not copied", () => {
    const [one, other] = [bytes.utf8("a"), bytes.utf8("bc")];
    expect(bytes.textOfUtf8(bytes.joinBytes([one, other]))).toBe("abc");
    expect(bytes.joinBytes([one])).toBe(one);
    expect(bytes.joinBytes([]).length).toBe(0);
  });
});
