import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { keyOf, sign, signWithKey } from "../../../../../mock-server/tools/check-receiver/target/signing.ts";

const secret = `whsec_${Buffer.alloc(32, 0x5a).toString("base64")}`;
const content = { id: "msg_1", timestamp: "1700000000", body: Buffer.from('{"a":"é"}') };

describe("the signatures of check-receiver", () => {
  it("sign and signWithKey return the signature of the public library", () => {
    const library = new Webhook(secret).sign("msg_1", new Date(1_700_000_000_000), '{"a":"é"}');
    expect(sign(content, secret)).toBe(library);
    expect(signWithKey(content, keyOf(secret))).toBe(library);
  });

  it("sign signs bytes that are not UTF-8 unchanged, which the public library cannot", () => {
    const bytes = { ...content, body: Buffer.from([0xff]) };
    const replaced = { ...content, body: Buffer.from("\uFFFD") };
    expect(sign(bytes, secret)).not.toBe(sign(replaced, secret));
  });
});
