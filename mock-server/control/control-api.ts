import { MockServerError } from "../errors.ts";
import { controlCalls } from "../generated/control-calls.ts";
import { ServiceError } from "../rules/service-error.ts";
import { type CallName, readArguments } from "./call-arguments.ts";
import type { contract } from "./contract.ts";
import type { DeliveryFilter, DeliverySummary, ExpectedDeliveries } from "./deliveries.ts";
import type { ExpectedRequests, RecordedRequest, RequestFilter } from "./requests.ts";
import type { ControlContext, RouteMethod } from "./route.ts";

type Methods = {
  readonly [Name in keyof typeof controlCalls]: RouteMethod<(typeof contract)[Name]>;
};

/**
 * The control API as methods: in this process as `mock.control`, over HTTP as `createControlClient`. Every
 * method resolves to what its call responds with over HTTP, and rejects with a `MockServerError`.
 */
export interface ControlApi extends Methods {}

/**
 * The calls with the checks of the HTTP API: the same input is accepted, and rejected with the same code and message. A
 * `body` that JSON cannot express is rejected as the client does.
 */
export function createControlApi(context: ControlContext): ControlApi {
  const methods = (Object.keys(controlCalls) as CallName[]).map((name) => {
    const method = async (...parameters: unknown[]) => {
      try {
        context.worlds.signal.throwIfAborted();
        const given = readArguments(name, parameters);
        calls ??= await import("./contract.ts");
        const response = await calls.runCall(name, context, given);
        // Callers may change what they get; parts of it are the world's own.
        return name === "getSnapshot" ? structuredClone(response) : response;
      } catch (error) {
        throw toMockServerError(error);
      }
    };
    return [name, method];
  });
  return Object.fromEntries(methods) as ControlApi;
}

/** The calls themselves, loaded with zod when the first one is made. */
let calls: typeof import("./contract.ts") | undefined;

/** The error as callers of the control API get it: without the classes and codes of the service's own API. */
export function toMockServerError(error: unknown): MockServerError {
  const cause = { cause: error };
  if (error instanceof ServiceError) {
    const { code, message, reason } = error;
    const isOwnCode = code === "NOT_FOUND" || code === "CONFLICT";
    const withReason = reason === undefined ? message : `${message}: ${reason}`;
    return new MockServerError(isOwnCode ? code : "BODY_INVALID", withReason, cause);
  }
  if (error instanceof MockServerError) return error;
  return new MockServerError("INTERNAL", "the mock failed; this is a bug", cause);
}

/** Real time that an expectation waits unless it says otherwise. */
export const expectationTimeoutMs = 1_000;

export function createExpectations(control: () => ControlApi) {
  return {
    async expectRequest(expected: ExpectedRequests = {}): Promise<RecordedRequest> {
      const { data } = await control().waitForRequests({ timeoutMs: expectationTimeoutMs, ...expected });
      return data[0] as RecordedRequest;
    },
    async expectDelivery(expected: ExpectedDeliveries = {}): Promise<DeliverySummary> {
      const { data } = await control().waitForDeliveries({ timeoutMs: expectationTimeoutMs, ...expected });
      return data[0] as DeliverySummary;
    },
    async expectNoRequest(expected: RequestFilter = {}): Promise<void> {
      await control().waitForRequests({ ...expected, times: 0 });
    },
    async expectNoDelivery(expected: DeliveryFilter = {}): Promise<void> {
      await control().waitForDeliveries({ ...expected, times: 0 });
    },
  };
}
