// Looks once, before the first test, for programs that some tests need. A missing program is reported, and its tests are
// skipped. With WORKSPACE_TASKS_TESTS=all, as in CI, a missing program fails the run.
import type { TestProject } from "vitest/node";
import { chromiumMissing } from "../browser/support/chromium.ts";
import { findPostgres } from "./postgres-binaries.ts";
import { findRabbitmq } from "./rabbitmq-binaries.ts";
import { findPython } from "./receivers/served-receiver.ts";
import { shareServers } from "./shared-servers.ts";
import { findSpin } from "./spin.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Why a program cannot be used, by the name of the program. */
    missing: Partial<Record<"postgres" | "rabbitmq" | "chromium" | "python" | "spin", string>>;
    /** Where a test file asks for the servers that all files share. */
    sharedServers: string;
  }
}

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const postgres = findPostgres();
  const rabbitmq = findRabbitmq();
  const python = findPython();
  const spin = findSpin();
  const chromium = await chromiumMissing();
  const missing = {
    ...("missing" in postgres ? { postgres: postgres.missing } : {}),
    ...("missing" in rabbitmq ? { rabbitmq: rabbitmq.missing } : {}),
    ...("missing" in python ? { python: python.missing } : {}),
    ...("missing" in spin ? { spin: spin.missing } : {}),
    ...(chromium === undefined ? {} : { chromium }),
  };
  const reasons = Object.entries(missing).map(([name, reason]) => `${name}: ${reason}`);
  if (reasons.length > 0 && process.env["WORKSPACE_TASKS_TESTS"] === "all")
    throw new Error(reasons.join("\n"));
  for (const reason of reasons) console.log(`skipping the tests that need ${reason}`);
  provide("missing", missing);
  const shared = await shareServers();
  provide("sharedServers", shared.origin);
  return async () => {
    await shared[Symbol.asyncDispose]();
  };
}
