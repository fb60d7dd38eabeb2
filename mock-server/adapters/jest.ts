// Nothing of vitest is imported here, and nothing of Jest: its `expect` is a global, or passed to `expect.extend`.

import * as s from "@workspace-tasks/kernel/schema.ts";
import { checkOptions } from "../checks.ts";
import type { NewWorld } from "../control/worlds.ts";
import type { MockServer } from "../create-mock.ts";
import { MockServerError } from "../errors.ts";
import type { MockWorld } from "../mock-world.ts";
import { createMockServer } from "../server.ts";
import type { MockServerOptions } from "../server-options.ts";
import { type MockMatchers, mockMatchers } from "./matchers.ts";

export { type MockMatchers, mockMatchers };

interface Expect {
  extend?(matchers: object): void;
}

(globalThis as { readonly expect?: Expect }).expect?.extend?.(mockMatchers);

declare global {
  // The name that @types/jest has for its types.
  namespace jest {
    // biome-ignore lint/complexity/noBannedTypes: both declarations of an interface have the same parameters
    interface Matchers<R, T = {}> extends MockMatchers<R> {}
  }
}

type Hook = (run: () => Promise<void>) => unknown;

/** Registers functions that run before and after tests. */
export interface TestHooks {
  readonly beforeAll: Hook;
  readonly beforeEach: Hook;
  readonly afterEach: Hook;
  readonly afterAll: Hook;
}

export interface WorldPerTestOptions {
  /** Options of the mock. Default: none. */
  readonly mock?: MockServerOptions | undefined;
  /** Options of each world. Default: none. */
  readonly world?: NewWorld | undefined;
  /** Default: the globals of the test framework; needed with Jest's `injectGlobals: false`. */
  readonly hooks?: TestHooks | undefined;
}

export interface WorldPerTest {
  /** The mock of this file, from its first test on. */
  readonly mock: MockServer;
  /** The world of the running test; a new one for each test, dropped after it. */
  readonly world: MockWorld;
}

const worldOptions = s.strictOptions<WorldPerTestOptions>()({
  mock: s.optional(s.object),
  world: s.optional(s.object),
  hooks: s.objectWith<TestHooks>(
    "beforeAll, beforeEach, afterEach and afterAll",
    ...(["beforeAll", "beforeEach", "afterEach", "afterAll"] as const),
  ),
});

/**
 * One mock for the tests of a file, and a world of it for each test.
 *
 * @throws MockServerError CONFIGURATION_INVALID for a wrong option, and without hooks
 */
export function worldPerTest(options: WorldPerTestOptions = {}): WorldPerTest {
  const given = { ...options, hooks: options.hooks ?? globalThis };
  const { hooks } = checkOptions("worldPerTest", given, worldOptions);
  let mock: MockServer | undefined;
  let world: MockWorld | undefined;
  hooks.beforeAll(async () => {
    mock = await createMockServer(options.mock);
  });
  hooks.beforeEach(async () => {
    world = await mock?.worlds.create(options.world);
  });
  hooks.afterEach(async () => {
    await world?.close();
    world = undefined;
  });
  hooks.afterAll(async () => {
    await mock?.close();
  });
  return {
    get mock() {
      return started(mock, "mock");
    },
    get world() {
      return started(world, "world");
    },
  };
}

function started<Value>(value: Value | undefined, name: string): Value {
  if (value !== undefined) return value;
  throw new MockServerError("CONFIGURATION_INVALID", `worldPerTest: ${name} exists only while a test runs`);
}
