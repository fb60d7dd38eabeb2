import { describe, expect, it } from "vitest";
import { liveSecrets } from "../../../../../mock-server/rules/deliveries/signing.ts";
import { exchangeApiKey } from "../../../../../mock-server/rules/identity/api-keys.ts";
import { authorise, type Caller } from "../../../../../mock-server/rules/identity/caller.ts";
import { seedWorld } from "../../../../../mock-server/rules/seeding/seed-world.ts";
import {
  createEndpoint,
  deleteEndpoint,
  rotateSecret,
} from "../../../../../mock-server/rules/webhooks/endpoints.ts";
import { type SettingsChanges, withSettings } from "../../../../../mock-server/settings/settings.ts";
import { createVirtualClock, type VirtualClock } from "../../../../../mock-server/time/virtual-clock.ts";
import { createWorld, type World } from "../../../../../mock-server/world/world.ts";

type Seeded = { readonly world: World; readonly clock: VirtualClock; readonly admin: Caller };

function createSeededWorld(changes: SettingsChanges = {}): Seeded {
  const clock = createVirtualClock();
  const nothing = Promise.resolve({ status: null, error: "no transport" });
  const world = createWorld({
    epoch: 0,
    seed: 1,
    clock,
    settings: withSettings(changes),
    transport: { deliver: () => nothing, read: () => nothing, abort() {} },
  });
  const { apiKey } = seedWorld(world);
  const { workspaceToken } = exchangeApiKey(world, { refreshToken: apiKey });
  return { world, clock, admin: authorise(world, `Bearer ${workspaceToken}`) };
}

const url = "https://hooks.example.com";

describe("rotateSecret", () => {
  it("rejects a rotation past the limit of secrets in their grace period, until one has expired", async () => {
    const { world, clock, admin } = createSeededWorld();
    const { endpoint } = createEndpoint(world, admin, { url });
    const rotate = () => rotateSecret(world, admin, { endpointId: endpoint.id, gracePeriodSeconds: 60 });
    for (let count = 1; count < 50; count++) rotate();
    expect(rotate).toThrow("Too many secrets");
    expect(liveSecrets(world, endpoint)).toHaveLength(50);
    await clock.advance(60_000);
    expect(rotate).not.toThrow();
  });
});

describe("createEndpoint", () => {
  it("rejects more endpoints than a workspace may have", () => {
    const { world, admin } = createSeededWorld();
    const { endpoint } = createEndpoint(world, admin, { url });
    while (world.state.endpoints.size < 10_000) {
      const id = world.newId("endpoint");
      world.state.endpoints.set(id, { ...endpoint, id });
    }
    expect(() => createEndpoint(world, admin, { url })).toThrow("limit of the workspace");
    deleteEndpoint(world, admin, endpoint.id);
    expect(() => createEndpoint(world, admin, { url })).not.toThrow();
  });
});
