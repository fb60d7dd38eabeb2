import { describe, expect, it } from "vitest";
import { liveSecrets } from "../../../../mock-server/rules/delivery-attempt.ts";
import { addEndpoint, addSecret, removeEndpoint } from "../../../../mock-server/rules/endpoints.ts";
import { createTestWorld } from "../../../support/mock-world.ts";

describe("addSecret", () => {
  it("rejects a rotation past the limit of secrets in their grace period, until one has expired", async () => {
    const { world, clock, addEndpoint } = createTestWorld();
    const endpoint = addEndpoint();
    const rotate = () => addSecret(world, endpoint, 60);
    for (let count = 1; count < 50; count++) rotate();
    expect(rotate).toThrow("Too many secrets");
    expect(liveSecrets(world, endpoint)).toHaveLength(50);
    await clock.advance(60_000);
    expect(rotate).not.toThrow();
  });
});

describe("addEndpoint", () => {
  it("rejects more endpoints than a workspace may have", () => {
    const { world, workspaceId, ...fixture } = createTestWorld();
    const endpoint = fixture.addEndpoint();
    while (world.state.endpoints.size < 10_000) {
      const id = world.newId("endpoint");
      world.state.endpoints.set(id, { ...endpoint, id });
    }
    const add = () => addEndpoint(world, workspaceId, { url: "https://hooks.example.com" });
    expect(add).toThrow("limit of the workspace");
    removeEndpoint(world, endpoint);
    expect(add).not.toThrow();
  });
});
