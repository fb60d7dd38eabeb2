import { test as base } from "vitest";
import { createMockServer, type MockServer } from "./server.ts";
import type { MockServerOptions } from "./server-options.ts";

export type MockFixtures = {
  /** A mock of its own for this test, on a free port; closed after it. */
  readonly mock: MockServer;
  /** How it is started. Default: nothing special. Change it with `mockTest.extend({ mockOptions: { … } })`. */
  readonly mockOptions: MockServerOptions;
};

/**
 * Vitest's `test` with a `mock` in its context: every test that asks for it gets a fresh one, so tests
 * cannot disturb each other, also when they run at the same time.
 */
export const mockTest = base.extend<MockFixtures>({
  // Vitest reads from the first parameter which fixtures this one needs.
  // biome-ignore lint/correctness/noEmptyPattern: it needs none
  mockOptions: async ({}, use) => use({}),
  mock: async ({ mockOptions }, use) => {
    await using mock = await createMockServer(mockOptions);
    await use(mock);
  },
});
