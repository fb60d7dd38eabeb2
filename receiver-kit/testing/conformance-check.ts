/// <reference lib="esnext.disposable" preserve="true" />
/** One promise, as a test that any runner can run. It rejects when the promise is not kept. */
export interface ConformanceCheck {
  /** What the promise is about, such as `leases`. */
  readonly group: string;
  readonly name: string;
  run(): Promise<void>;
}

/** `{ describe, it }` of vitest, Jest, Mocha or `node:test`. */
export interface TestRunner {
  describe(name: string, define: () => void): unknown;
  it(name: string, run: () => Promise<void>): unknown;
}

/** A check before its fixture is known. */
export interface CheckOn<Fixture> {
  readonly group: string;
  readonly name: string;
  run(fixture: Fixture): Promise<void>;
}

/** Names the checks of a group: `{ "stores any bytes unchanged": async (fixture) => … }`. */
export function checkGroup<Fixture>(
  group: string,
  checks: Readonly<Record<string, (fixture: Fixture) => Promise<void>>>,
): readonly CheckOn<Fixture>[] {
  return Object.entries(checks).map(([name, run]) => ({ group, name, run }));
}

/** Each check gets a fixture of its own. */
export function withFixtures<Fixture extends AsyncDisposable>(
  checks: readonly CheckOn<Fixture>[],
  create: () => Promise<Fixture>,
): readonly ConformanceCheck[] {
  return checks.map(({ group, name, run }) => ({
    group,
    name,
    async run() {
      const fixture = await create();
      try {
        await run(fixture);
      } finally {
        await fixture[Symbol.asyncDispose]();
      }
    },
  }));
}

/**
 * Declares checks as tests of a runner, in a `describe` per group.
 *
 * @param subject what is tested, such as `MySQL inbox`
 */
export function registerChecks(
  { describe, it }: TestRunner,
  subject: string,
  checks: readonly ConformanceCheck[],
): void {
  for (const group of new Set(checks.map((check) => check.group))) {
    describe(`${subject}: ${group}`, () => {
      for (const check of checks) if (check.group === group) it(check.name, () => check.run());
    });
  }
}
