import { expect, it } from "vitest";
import { useService } from "./harness.ts";
import { mutation } from "./operations.ts";

// Apart from the other rules of keys: these tests let years pass, and the first key does not live that long.

const service = useService();

const exchange = mutation(
  service,
  "exchangeSurfaceRefreshTokenForAccessTokens",
  "$refreshToken: String!",
  "{ userToken workspaceToken }",
  () => ({ token: null }),
);
const messageOf = async (refreshToken: string) => (await exchange({ refreshToken })).message;

it.each([
  [30, { expiresInDays: 30 }],
  [60, { expiresInDays: 60 }],
  [90, { expiresInDays: 90 }],
  [90, {}],
  [365, { expiresInDays: 365 }],
] as const)("K5 a key expires after %i days with the options %j", async (days, options) => {
  const { apiKey } = await service.key(options);
  await service.advance(`${days * 24 - 1}h`);
  expect(await messageOf(apiKey)).toBeUndefined();
  await service.advance("1h");
  expect(await messageOf(apiKey)).toBe("Invalid refresh token");
});

it("K5 a key for another number of days is rejected", async () => {
  const expiresInDays = 45 as 30;
  await expect(service.key({ expiresInDays })).rejects.toMatchObject({ code: "BODY_INVALID" });
});
