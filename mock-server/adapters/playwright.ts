// Nothing of Playwright is imported: fixtures are plain functions.

import type { NewWorld } from "../control/worlds/world-routes.ts";
import type { MockServer } from "../create-mock.ts";
import type { MockWorld } from "../mock-world.ts";
import { createMockServer } from "../server.ts";
import type { MockServerOptions } from "../server-options.ts";

/** Fixtures that live as long as a worker of Playwright. */
export interface MockWorkerFixtures {
  /** One mock for all tests of a worker, on a free port. */
  mock: MockServer;
  /** Its options. Default: none. */
  mockOptions: MockServerOptions;
}

/** Fixtures of each test. */
export interface MockTestFixtures {
  /** A world of the mock for this test alone; dropped after it. */
  world: MockWorld;
  /** Its options. Default: none. */
  worldOptions: NewWorld;
}

type Use<Value> = (value: Value) => Promise<void>;
type WorkerScope = { scope: "worker" };

/** What `mockFixtures` consists of, in the types of Playwright's `test.extend`. */
export interface MockFixtures {
  mockOptions: [MockServerOptions, WorkerScope & { option: true }];
  mock: [(fixtures: { mockOptions: MockServerOptions }, use: Use<MockServer>) => Promise<void>, WorkerScope];
  worldOptions: [NewWorld, { option: true }];
  world: (fixtures: { mock: MockServer; worldOptions: NewWorld }, use: Use<MockWorld>) => Promise<void>;
}

/**
 * Fixtures for Playwright's `test.extend`: one mock per worker, and a world of it per test.
 * `base.extend<MockTestFixtures, MockWorkerFixtures>(mockFixtures)`, see docs/parallel-tests.md.
 */
export const mockFixtures: MockFixtures = {
  mockOptions: [{}, { scope: "worker", option: true }],
  mock: [
    async ({ mockOptions }, use) => {
      await using mock = await createMockServer(mockOptions);
      await use(mock);
    },
    { scope: "worker" },
  ],
  worldOptions: [{}, { option: true }],
  world: async ({ mock, worldOptions }, use) => {
    await using world = await mock.worlds.create(worldOptions);
    await use(world);
  },
};
