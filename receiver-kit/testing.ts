export { type ConformanceCheck, registerChecks, type TestRunner } from "./testing/conformance-check.ts";
export { type InboxChecksOptions, inboxChecks } from "./testing/inbox-checks.ts";
export type { InboxFixture, InboxTestClock } from "./testing/inbox-fixture.ts";
export { type IntakeChecksOptions, intakeChecks } from "./testing/intake-checks.ts";
export type { IntakeFixture } from "./testing/intake-fixture.ts";
