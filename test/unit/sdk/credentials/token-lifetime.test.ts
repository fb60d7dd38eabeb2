import { describe, expect, it } from "vitest";
import { tokenLifetimeMs } from "../../../../sdk/credentials/credentials.ts";

function jwt(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part(claims)}.c2lnbmF0dXJl`;
}

describe("the lifetime of a token", () => {
  it("is exp minus iat, both of the service's clock", () => {
    expect(tokenLifetimeMs(jwt({ iat: 1_000, exp: 1_090 }))).toBe(90_000);
  });

  it.each([
    ["an opaque token", "opaque"],
    ["something with dots", "a.b.c"],
    ["a payload that is no object", `x.${Buffer.from("12").toString("base64url")}.y`],
    ["no exp", jwt({ sub: "x" })],
    ["an exp that is text", jwt({ exp: "soon" })],
    ["no iat", jwt({ exp: 315_360_000 })],
    ["an exp long after iat", jwt({ iat: 1_000, exp: 315_360_000 })],
    ["an exp before iat", jwt({ iat: 1_000, exp: 999 })],
  ])("the lifetime of a token with %s is the documented one", (_, token) => {
    expect(tokenLifetimeMs(token)).toBe(180_000);
  });
});
