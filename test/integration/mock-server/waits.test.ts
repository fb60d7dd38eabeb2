// Every wait of the mock: what is waited for never comes, and the error names it and the option with the limit.

import { createControlClient, createVirtualClock } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";

const hang = () => new Promise<never>(() => {});
const endOf = (wait: Promise<unknown>) =>
  wait.then(
    () => "it ended well",
    ({ code, message }: Error & { readonly code: string }) => `${code}: ${message}`,
  );

const waits: readonly (readonly [wait: string, end: () => Promise<string>, expected: RegExp])[] = [
  [
    "clock.advance waits for work in flight",
    () => {
      const clock = createVirtualClock(0, { waitLimitMs: 20 });
      void clock.track(hang(), { what: "the response to POST /graphql" });
      return endOf(clock.advance(1));
    },
    /^CLOCK_BLOCKED: virtual time waited 20 ms \(waitLimitMs\) for the response to POST \/graphql/,
  ],
  [
    "clock.runUntil waits for a promise",
    () => endOf(createVirtualClock(0, { waitLimitMs: 20 }).runUntil(hang(), { limit: "1d" })),
    /^CLOCK_BLOCKED: clock.runUntil: at \S+ the promise has not settled, nothing more is due within the limit/,
  ],
  [
    "a control client waits for the mock",
    () =>
      endOf(createControlClient({ baseUrl: "http://mock.localhost", fetch: hang, timeoutMs: 5 }).getHealth()),
    /^REQUEST_TIMEOUT: the mock at http:\/\/mock.localhost did not respond within timeoutMs \(5\)$/,
  ],
  [
    "a control client waits for a mock that waits for requests",
    () => {
      const control = createControlClient({ baseUrl: "http://mock.localhost", fetch: hang, timeoutMs: 5 });
      return endOf(control.waitForRequests({ timeoutMs: 7 }));
    },
    /^REQUEST_TIMEOUT: the mock at \S+ did not respond within timeoutMs \(5\) and the 7 ms that it was asked to wait$/,
  ],
];

describe("an error that ends a wait of the mock names what was waited for, and the limit", () => {
  it.each(waits)("when %s", async (_wait, end, expected) => {
    expect(await end()).toMatch(expected);
  });
});
