import { inspect } from "node:util";
import { createVerifier, isReceiverError, type ReceiverError } from "@workspace-tasks/receiver-kit";
import { describe, expect, it } from "vitest";
import { parseSecret } from "../../../../receiver-kit/signature/secret.ts";

const bytes = (count: number) => Buffer.alloc(count, 0x5a).toString("base64");
const good = `whsec_${bytes(32)}`;
const hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

function mistakeOf(secret: unknown): ReceiverError {
  try {
    parseSecret(secret, "secrets[0]");
  } catch (error) {
    if (isReceiverError(error)) return error;
    throw error;
  }
  throw new Error("expected the secret to be rejected");
}

describe("parseSecret", () => {
  it.each([24, 32, 48, 64])("accepts a key of %i bytes", (count) => {
    expect(parseSecret(`whsec_${bytes(count)}`).symmetricKeySize).toBe(count);
  });

  it.each([
    ["undefined, as an unset variable is", undefined, /undefined; is the environment variable set/],
    ["null", null, /got null$/],
    ["a number", 42, /got number/],
    ["bytes", Buffer.alloc(32), /got object/],
    ["an empty string", "", /empty string: is the environment variable set\?$/],
    ["the prefix alone", "whsec_", /nothing follows/],
    ["spaces only", "   ", /only whitespace/],
    ["a trailing newline", `${good}\n`, /ends with a newline/],
    ["a trailing carriage return", `${good}\r\n`, /ends with a newline/],
    ["a leading space", ` ${good}`, /around it/],
    ["a line break inside", `${good.slice(0, 20)}\n${good.slice(20)}`, /two lines/],
    ["quotes around it", `"${good}"`, /is in quotes/],
    ["a part in quotes", `"${good}"x`, /starts with whsec_/],
    ["a signature version in front", `v1,${good}`, /remove it/],
    ["a public key", `whpk_${bytes(32)}`, /asymmetric/],
    ["a private key", `whsk_${bytes(64)}`, /asymmetric/],
    ["no prefix", bytes(32), /starts with whsec_/],
    ["an upper-case prefix", `WHSEC_${bytes(32)}`, /starts with whsec_/],
    ["hexadecimal", `whsec_${hex}`, /hexadecimal/],
    ["upper-case hexadecimal", `whsec_${hex.toUpperCase()}`, /hexadecimal/],
    ["base64url", `whsec_${Buffer.alloc(33, 0xff).toString("base64url")}`, /base64url/],
    ["base64url after other letters", "whsec_AA_A", /base64url/],
    ["the prefix twice", "whsec_whsec_", /base64url/],
    ["the prefix again before hexadecimal", `whsec_!whsec_${hex}`, /does not use/],
    ["the prefix again before base64url", "whsec_!whsec_A_A", /does not use/],
    ["quotes around it", `whsec_"${bytes(32)}"`, /does not use/],
    ["a lost padding character", good.slice(0, -1), /lost in copying/],
    ["a lost last character", `whsec_${bytes(48).slice(0, -1)}`, /lost in copying/],
    ["a key of 23 bytes", `whsec_${bytes(23)}`, /got 23/],
    ["a key of one byte", "whsec_AA==", /got 1/],
    ["a key of 65 bytes", `whsec_${bytes(65)}`, /got 65/],
    ["a version after two digits", `v12,${good}`, /remove it/],
    ["the name of a version inside", `whsec_v1,${bytes(32)}`, /does not use/],
    ["the prefix of an asymmetric key inside", `a_whpk_${bytes(32)}`, /starts with whsec_/],
    ["31 hexadecimal digits", `whsec_${hex.slice(0, 31)}`, /lost in copying/],
    ["an exclamation mark before base64url", "whsec_!_AAA", /does not use/],
    ["an exclamation mark after base64url", "whsec_A_A=!", /does not use/],
    ["an exclamation mark before base64", `whsec_!${bytes(32)}`, /does not use/],
    ["an exclamation mark after base64", `whsec_${bytes(32)}!`, /does not use/],
    ["three padding characters", `whsec_${bytes(32)}==`, /does not use/],
  ] as const)("rejects %s with a message of its own", (_, secret, message) => {
    const mistake = mistakeOf(secret);
    expect(mistake.code).toBe("SECRET_INVALID");
    expect(mistake.message).toMatch(message);
    expect(mistake.message).toMatch(/^secrets\[0\]: /);
  });

  it.each([
    ["before", `${"z".repeat(4)}${"ab".repeat(16)}`],
    ["after", `${"ab".repeat(16)}${"z".repeat(4)}`],
  ])("accepts base64 with other letters %s 32 hexadecimal digits", (_, encoded) => {
    expect(parseSecret(`whsec_${encoded}`).symmetricKeySize).toBe(27);
  });

  it("puts no part of a wrong secret into the message", () => {
    const wrong = [
      `${good}\n`,
      `v1,${good}`,
      bytes(32),
      `whsec_${hex}`,
      good.slice(0, -1),
      `whsec_${bytes(23)}`,
    ];
    for (const secret of wrong) {
      const shown = inspect(mistakeOf(secret), { depth: 10, showHidden: true });
      const body = secret.replace(/^(v1,)?(whsec_)?/, "").trim();
      expect(shown).not.toContain(body.slice(0, 8));
    }
  });
});

describe("the secrets of createVerifier", () => {
  it("are checked at once, and the wrong one is named by its index", () => {
    expect(() => createVerifier({ secrets: [good, `${good}\n`] })).toThrow(
      /^secrets\[1\]: ends with a newline/,
    );
  });

  it("must be at least one secret", () => {
    expect(() => createVerifier({ secrets: [] })).toThrow(/at least one secret/);
  });

  it.each([
    ["a string", good, "string"],
    ["no secrets", undefined, "undefined"],
    ["an object with a misspelt name", { byTennant: () => undefined }, "object"],
    ["an object with a tenant in place of a function", { byTenant: "acme" }, "object"],
  ])("must be a list, a function, or an object with byTenant: not %s", (_, secrets, found) => {
    expect(() => createVerifier({ secrets } as never)).toThrow(
      `secrets: expected a list of at least one secret, a function, or an object with the function byTenant, got ${found}`,
    );
  });

  it("do not appear when the verifier is printed", () => {
    const shown = inspect(createVerifier({ secrets: [good] }), { depth: 10, showHidden: true });
    expect(shown).not.toContain(bytes(32).slice(0, 8));
    expect(shown).not.toContain("5a5a");
    expect(shown).not.toContain("90, 90");
  });
});
