import { describe, expect, it } from "vitest";
import { tokenLifetimeMs } from "../../../../sdk/credentials/key-exchange.ts";

const serverNow = "Thu, 15 Jan 2026 12:00:00 GMT";
const serverSeconds = Date.parse(serverNow) / 1_000;
const localNowMs = Date.parse(serverNow);

function jwt(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part(claims)}.c2lnbmF0dXJl`;
}

describe("the lifetime of a token", () => {
  const times = { iat: serverSeconds - 170, exp: serverSeconds + 10 };
  const dayMs = 86_400_000;
  it.each([
    ["exp minus iat, both of the service's clock", { iat: 1_000, exp: 1_090 }, null, 0, 90_000],
    ["exp minus iat also when a proxy has set another Date", times, serverNow, 0, 180_000],
    ["that of the next time when iat is later", { ...times, iat: times.exp + 9 }, serverNow, 0, 10_000],
    ["exp minus Date without iat, whatever the local time", { exp: times.exp }, serverNow, dayMs, 10_000],
    ["exp minus the local time without iat and Date", { exp: times.exp }, null, 0, 10_000],
  ])("the lifetime is %s", (_, claims, date, aheadMs, expectedMs) => {
    expect(tokenLifetimeMs(jwt(claims), date, localNowMs + aheadMs)).toBe(expectedMs);
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
