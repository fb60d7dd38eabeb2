import "@workspace-tasks/mock-server/vitest";
import { afterEach, expect, it, vi } from "vitest";
import { fakeTimersSuite } from "./suite.ts";

const options = JSON.parse(process.env["FAKE_TIMERS"] ?? "{}");

afterEach(() => void vi.useRealTimers());
fakeTimersSuite({ it, expect, useFakeTimers: () => void vi.useFakeTimers(options) });
