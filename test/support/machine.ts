import { describe, inject, it } from "vitest";

// What this machine has, as `preconditions.ts` found it. A test for which something is missing is reported as skipped.

const missing = inject("missing");
export const hasPostgres = missing.postgres === undefined;

export const describeWithPostgres = describe.skipIf(!hasPostgres);
export const itWithPostgres = it.skipIf(!hasPostgres);
export const itWithPython = it.skipIf(missing.python !== undefined);
export const itWithChromium = it.skipIf(missing.chromium !== undefined);
export const describeWithChromium = describe.skipIf(missing.chromium !== undefined);
