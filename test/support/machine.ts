import { describe, inject, it } from "vitest";

// Tests that need a program that may be missing on this machine, see `preconditions.ts`; they are reported as skipped.

const missing = inject("missing");
export const hasPostgres = missing.postgres === undefined;
export const hasRabbitmq = missing.rabbitmq === undefined;

export const describeWithPostgres = describe.skipIf(!hasPostgres);
export const itWithPostgres = it.skipIf(!hasPostgres);
export const describeWithRabbitmq = describe.skipIf(!hasRabbitmq);
export const itWithPython = it.skipIf(missing.python !== undefined);
export const itWithChromium = it.skipIf(missing.chromium !== undefined);
export const describeWithChromium = describe.skipIf(missing.chromium !== undefined);
export const describeWithSpin = describe.skipIf(missing.spin !== undefined);
