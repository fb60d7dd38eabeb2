// Nothing of vitest is imported here, and nothing of Jest: its `expect` is a global, or passed to `expect.extend`.

import { type MockMatchers, mockMatchers } from "./matchers.ts";

export {
  type TestHooks,
  type WorldPerTest,
  type WorldPerTestOptions,
  worldPerTest,
} from "./world-per-test.ts";
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
