// The matchers of vitest and Jest, without an import of either.

import { type ControlApi, expectationTimeoutMs } from "../control/control-api.ts";
import type { ExpectedDeliveries } from "../control/deliveries.ts";
import type { ExpectedRequests } from "../control/requests.ts";
import { isMockServerError, MockServerError } from "../errors.ts";
import type { MockWorld } from "../mock-world.ts";

export interface MatcherResult {
  readonly pass: boolean;
  message(): string;
}

/** What both test runners pass as `this`. */
export interface MatcherContext {
  readonly isNot?: boolean | undefined;
}

/** `await expect(mock).toHaveReceivedRequest({ operation: "me" })`: the matchers, as `this` sees them. */
export interface MockMatchers<Result = void> {
  /** A mock, a world or a control client has received a matching request, or receives it within `timeoutMs`. */
  toHaveReceivedRequest(expected?: ExpectedRequests): Promise<Result>;
  /** A mock, a world or a control client has a matching delivery, or has it within `timeoutMs`. */
  toHaveDelivery(expected?: ExpectedDeliveries): Promise<Result>;
}

/**
 * For `expect.extend`; importing `@workspace-tasks/mock-server/vitest` or `/jest` does it.
 *
 * @example examples/mock-assertions.test.ts#matchers
 * ```ts
 * mockTest("a completed task is delivered once", async ({ mock }) => {
 *   await mock.control.createEndpoint({ url: "http://127.0.0.1:1/webhooks" });
 *   const { taskId } = await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
 *   await mock.control.setTaskStatus(taskId, { status: "COMPLETED" });
 *   await expect(mock).toHaveDelivery({ event: "task.completed", subject: taskId, times: 1 });
 *   await expect(mock).not.toHaveDelivery({ event: "task.failed" });
 *   await expect(mock).not.toHaveReceivedRequest({ operation: "createClient" });
 * });
 * ```
 */
export const mockMatchers = {
  async toHaveReceivedRequest(
    this: MatcherContext,
    received: unknown,
    expected: ExpectedRequests = {},
  ): Promise<MatcherResult> {
    const { waitForRequests } = controlOf("toHaveReceivedRequest", received);
    return match(this, (changes) =>
      waitForRequests({ timeoutMs: expectationTimeoutMs, ...expected, ...changes }),
    );
  },
  async toHaveDelivery(
    this: MatcherContext,
    received: unknown,
    expected: ExpectedDeliveries = {},
  ): Promise<MatcherResult> {
    const { waitForDeliveries } = controlOf("toHaveDelivery", received);
    return match(this, (changes) =>
      waitForDeliveries({ timeoutMs: expectationTimeoutMs, ...expected, ...changes }),
    );
  },
};

async function match(
  { isNot = false }: MatcherContext,
  wait: (changes: { count?: undefined; times?: 0 }) => Promise<unknown>,
): Promise<MatcherResult> {
  // With `.not`, what exists now decides: nothing is worth waiting for.
  const error = await wait(isNot ? { count: undefined, times: 0 } : {}).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error !== null && !isMockServerError(error, "WAIT_TIMED_OUT")) throw error;
  return { pass: (error === null) !== isNot, message: () => (error as Error | null)?.message ?? "" };
}

function controlOf(matcher: string, received: unknown): ControlApi {
  const candidate = received as Partial<MockWorld & ControlApi> | null | undefined;
  const control = candidate?.control ?? candidate;
  if (typeof control?.waitForRequests === "function") return control as ControlApi;
  throw new MockServerError("ARGUMENT_INVALID", `${matcher}: expected a mock, a world or a control client`);
}
