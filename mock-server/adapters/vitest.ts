import { test as base, expect } from "vitest";
import type { MockServer } from "../create-mock.ts";
import { createMockServer } from "../server.ts";
import type { MockServerOptions } from "../server-options.ts";
import { type MockMatchers, mockMatchers } from "./matchers.ts";

export { type MockMatchers, mockMatchers };

expect.extend(mockMatchers);

declare global {
  // Vitest's assertions have what Chai's have. Its own interface of matchers has other type parameters in vitest 5 than in 4.
  namespace Chai {
    interface Assertion extends MockMatchers<void> {}
  }
}

export interface MockFixtures {
  /** A mock for this test alone, on a free port; closed after it. */
  readonly mock: MockServer;
  /** Its options. Default: none. Change them with `mockTest.extend({ mockOptions: { … } })`. */
  readonly mockOptions: MockServerOptions;
}

/**
 * Vitest's `test` with a `mock` in its context: every test gets its own, so concurrent tests are independent.
 *
 * @example examples/vitest-fixture.test.ts#vitest
 * ```ts
 * import { mockTest } from "@workspace-tasks/mock-server/vitest";
 * import { createClient } from "@workspace-tasks/sdk";
 * import { expect } from "vitest";
 *
 * mockTest("a connection with an invalid key fails", async ({ mock }) => {
 *   const { baseUrl, gatewayUrl, apiKey, workspaceId } = mock;
 *   await using client = createClient({ baseUrl, gatewayUrl, apiKey });
 *   const inputs = { apiKey: "invalid-key" };
 *   const { id } = await client.partner.connections.start({ workspaceId, providerKey: "acme-portal", inputs });
 *   const connection = await client.partner.connections.collect(id);
 *   expect(connection.status).toBe("failed");
 * });
 * ```
 */
export const mockTest = base.extend<MockFixtures>({
  // Vitest reads from the first parameter which fixtures this one needs.
  // biome-ignore lint/correctness/noEmptyPattern: it needs none
  mockOptions: async ({}, use) => use({}),
  mock: async ({ mockOptions }, use) => {
    const mock = await createMockServer(mockOptions);
    try {
      await use(mock);
    } finally {
      await mock.close();
    }
  },
});
