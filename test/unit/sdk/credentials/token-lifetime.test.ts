import { describe, expect, it } from "vitest";
import { tokenLifetimeMs } from "../../../../sdk/credentials/token-lifetime.ts";

const serverNow = "Thu, 15 Jan 2026 12:00:00 GMT";
const serverSeconds = Date.parse(serverNow) / 1_000;
const localNowMs = Date.parse(serverNow);

function jwt(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part(claims)}.c2lnbmF0dXJl`;
}

describe("the lifetime of a token", () => {
  it("the lifetime is exp minus iat, both of the service's clock", () => {
    expect(tokenLifetimeMs(jwt({ iat: 1_000, exp: 1_090 }), null, localNowMs)).toBe(90_000);
  });

  it("the lifetime is exp minus iat also when the response's Date disagrees, which a proxy may have set", () => {
    const token = jwt({ iat: serverSeconds - 170, exp: serverSeconds + 10 });
    expect(tokenLifetimeMs(token, serverNow, localNowMs)).toBe(180_000);
  });

  it("the lifetime is that of the next time when exp minus iat is not positive", () => {
    const token = jwt({ iat: serverSeconds + 500, exp: serverSeconds + 120 });
    expect(tokenLifetimeMs(token, serverNow, localNowMs)).toBe(120_000);
  });

  it("the lifetime is exp minus the response's Date without iat, whatever the local clock shows", () => {
    const token = jwt({ exp: serverSeconds + 180 });
    expect(tokenLifetimeMs(token, serverNow, localNowMs + 86_400_000)).toBe(180_000);
  });

  it("the lifetime is exp minus the local time without iat and Date", () => {
    expect(tokenLifetimeMs(jwt({ exp: serverSeconds + 170 }), null, localNowMs)).toBe(170_000);
  });

  it.each([
    ["an opaque token", "opaque"],
    ["something with dots", "a.b.c"],
    ["a payload that is no object", `x.${Buffer.from("12").toString("base64url")}.y`],
    ["no exp", jwt({ sub: "x" })],
    ["an exp that is text", jwt({ exp: "soon" })],
    ["an exp long past", jwt({ exp: 5 })],
    ["an exp in ten years", jwt({ exp: serverSeconds + 315_360_000 })],
  ])("the lifetime of a token with %s is the documented one", (_, token) => {
    expect(tokenLifetimeMs(token, null, localNowMs)).toBe(180_000);
  });
});
