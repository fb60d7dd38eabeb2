import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { liveSecrets } from "../../../../../mock-server/rules/deliveries/signing.ts";
import { exchangeApiKey } from "../../../../../mock-server/rules/identity/api-keys.ts";
import { authorise, type Caller } from "../../../../../mock-server/rules/identity/caller.ts";
import { seedWorld } from "../../../../../mock-server/rules/seeding/seed-world.ts";
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
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

describe("listEndpoints", () => {
  const steps = fc.array(
    fc.oneof(
      fc.constant({ kind: "create" } as const),
      fc.record({ kind: fc.constant("delete" as const), at: fc.nat(30) }),
      fc.record({ kind: fc.constant("page" as const), limit: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(3) }),
    ),
    { minLength: 5, maxLength: 80 },
  );

  it("returns every endpoint that exists throughout exactly once, while others are created and deleted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(20), steps, async (initially, walk) => {
        const { world, clock, admin } = createSeededWorld();
        const alive: string[] = [];
        const create = () => alive.push(createEndpoint(world, admin, { url }).endpoint.id);
        for (let made = 0; made < initially; made++) create();
        const stayed = new Set(alive);
        const seen: string[] = [];
        let iterator: string | null = null;
        let done = false;
        const next = (limit: number) => {
          const page = listEndpoints(world, admin, { limit, iterator });
          seen.push(...page.data.map(({ id }) => id));
          ({ done, iterator } = page);
        };
        for (const step of walk) {
          if (done) break;
          if (step.kind === "create") create();
          else if (step.kind === "wait") await clock.advance(step.ms);
          else if (step.kind === "page") next(step.limit);
          else {
            const [removed] = alive.splice(step.at % Math.max(1, alive.length), 1);
            if (removed !== undefined) {
              deleteEndpoint(world, admin, removed);
              stayed.delete(removed);
            }
          }
        }
        while (!done) next(3);
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen).toEqual(seen.toSorted());
        for (const id of stayed) expect(seen).toContain(id);
      }),
    );
  });
});

describe("rotateSecret", () => {
  it("keeps every secret until the end of its own grace period, newest first", async () => {
    const { world, clock, admin } = createSeededWorld();
    const { endpoint, signingSecret: first } = createEndpoint(world, admin, { url });
    const rotate = (gracePeriodSeconds: number) =>
      rotateSecret(world, admin, { endpointId: endpoint.id, gracePeriodSeconds }).signingSecret;
    const live = () => liveSecrets(world, endpoint).map(({ secret }) => secret);
    const second = rotate(100);
    await clock.advance(50_000);
    const third = rotate(10);
    expect(live()).toEqual([third, second, first]);
    await clock.advance(9_999);
    expect(live()).toEqual([third, second, first]);
    await clock.advance(1);
    expect(live()).toEqual([third, first]);
    await clock.advance(40_000);
    expect(live()).toEqual([third]);
    expect(rotate(0)).toBe(live()[0]);
    expect(live()).toHaveLength(1);
  });

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
