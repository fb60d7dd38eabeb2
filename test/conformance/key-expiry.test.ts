import { describe, expect } from "vitest";
import { exchangeDocument, mockTest, useService } from "./harness.ts";

// Apart from the other rules of keys: these tests let years pass, and the first key does not live that long.

const service = useService();

const exchange = (apiKey: string) => service.graphql(exchangeDocument, { apiKey }, { token: null });

describe("K4 failed exchange", () => {
  mockTest("K4 a wrong, a revoked and an expired key are rejected with the same message", async () => {
    const revoked = await service.key();
    await service.control.revokeApiKey(revoked.id);
    const expired = await service.key({ expiresInDays: 30 });
    await service.advance("30d");
    const responses = [
      await exchange("wtk_wrong"),
      await exchange(revoked.apiKey),
      await exchange(expired.apiKey),
    ];
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1);
    expect(responses[0]?.errors?.[0]?.message).toBe("Invalid refresh token");
  });
});

describe("K5 key expiry", () => {
  mockTest.each([30, 60, 90, 365] as const)(
    "K5 a key of %i days expires after its last day",
    async (expiresInDays) => {
      const { apiKey } = await service.key({ expiresInDays });
      await service.advance(`${expiresInDays * 24 - 1}h`);
      expect((await exchange(apiKey)).errors).toBeUndefined();
      await service.advance("1h");
      expect((await exchange(apiKey)).errors?.[0]?.message).toBe("Invalid refresh token");
    },
  );

  mockTest("K5 a key expires after 90 days by default, and other numbers are rejected", async () => {
    const { apiKey } = await service.key();
    await service.advance("89d");
    expect((await exchange(apiKey)).errors).toBeUndefined();
    await service.advance("1d");
    expect((await exchange(apiKey)).errors).toHaveLength(1);
    const expiresInDays = 45 as 30;
    await expect(service.key({ expiresInDays })).rejects.toMatchObject({ code: "BODY_INVALID" });
  });
});
