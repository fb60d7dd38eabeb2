import { describe, expect, it } from "vitest";
import { createRoundTrips } from "../../../../mock-server/world/round-trips.ts";

const response = (responseBody: string) => ({ requestHeaders: {}, responseHeaders: {}, responseBody });

describe("createRoundTrips", () => {
  it("keeps the round trips of the newest 500 sequence numbers", () => {
    const roundTrips = createRoundTrips();
    for (let sequence = 1; sequence <= 501; sequence++) roundTrips.keep(sequence, response(`${sequence}`));
    expect(roundTrips.get(1)).toBeUndefined();
    expect(roundTrips.get(2)?.responseBody).toBe("2");
    expect(roundTrips.get(501)?.responseBody).toBe("501");
  });

  it("cuts a body after 16,384 characters and marks it", () => {
    const roundTrips = createRoundTrips();
    roundTrips.keep(1, response("x".repeat(16_384)));
    roundTrips.keep(2, response("x".repeat(16_385)));
    expect(roundTrips.get(1)?.isTruncated).toBe(false);
    expect(roundTrips.get(2)).toMatchObject({ responseBody: "x".repeat(16_384), isTruncated: true });
  });
});
