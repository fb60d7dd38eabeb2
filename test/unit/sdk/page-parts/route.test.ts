import { hashOf, parseHash } from "@workspace-tasks/page-parts/route.ts";
import { describe, expect, it } from "vitest";

describe("hashOf and parseHash", () => {
  it("keep view, id and filters", () => {
    const hash = hashOf("deliveries", "a/b %", { status: "failed", event: "" });
    expect(hash).toBe("#/deliveries/a%2Fb%20%25?status=failed");
    expect(parseHash(hash)).toEqual({ view: "deliveries", id: "a/b %", filter: { status: "failed" } });
  });

  it("fall back to the overview, and accept any text", () => {
    expect(parseHash("")).toEqual({ view: "overview", id: null, filter: {} });
    expect(parseHash("#/tasks/100%")).toEqual({ view: "tasks", id: "100%", filter: {} });
    expect(parseHash(hashOf("errors", "half \uD83D of 😀"))).toMatchObject({ id: "half \uFFFD of 😀" });
  });
});
