import "@workspace-tasks/mock-server/jest";
import { fakeTimersSuite } from "./suite.ts";

// Of Jest, whose types are not among those of this project.
declare const jest: { useFakeTimers(options: object): void; useRealTimers(): void };
declare const it: (title: string, run: () => Promise<void>) => void;
declare const expect: unknown;
declare const afterEach: (run: () => void) => void;

const options = JSON.parse(process.env["FAKE_TIMERS"] ?? "{}");

afterEach(() => jest.useRealTimers());
fakeTimersSuite({ it, expect, useFakeTimers: () => jest.useFakeTimers(options) });
