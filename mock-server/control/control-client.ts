import { checkOptions, functionKind, type Kind, kind, numberFrom } from "../check-options.ts";
import {
  isMockServerError,
  MockServerError,
  type MockServerErrorCode,
  type MockServerIssue,
  mockServerErrorCodes,
} from "../errors.ts";
import { controlCalls } from "../generated/control-calls.ts";
import type { CallOptions } from "./contract/route.ts";
import type { ControlApi } from "./control-api.ts";

export interface ControlClientOptions {
  /** The mock's `baseUrl`, for example `http://127.0.0.1:4010`. */
  readonly baseUrl: string;
  /** Default: the global `fetch`; `mock.fetch` reaches a mock without a port. */
  readonly fetch?: ((url: URL, init: RequestInit) => Promise<Response>) | undefined;
  /** Time limit of a call; a wait adds its own. Default: 30000. */
  readonly timeoutMs?: number | undefined;
}

const optionKinds: { readonly [Name in keyof Required<ControlClientOptions>]: Kind } = {
  baseUrl: kind("a URL", (value) => typeof value === "string" && URL.canParse(value)),
  fetch: functionKind,
  timeoutMs: numberFrom(1),
};

/**
 * The control API of a mock in another process.
 *
 * In addition to the codes of the mock, a `MockServerError` can have `NETWORK_FAILED`, `REQUEST_TIMEOUT`, or
 * `RESPONSE_INVALID` for a server that is not a mock.
 *
 * @example examples/vitest-fixture.test.ts#control-client
 * ```ts
 * import { createControlClient } from "workspace-tasks/mock-server";
 *
 * mockTest("another process controls the mock over HTTP", async ({ mock }) => {
 *   const control = createControlClient({ baseUrl: mock.baseUrl });
 *   await control.createEndpoint({ url: "http://127.0.0.1:4711/webhooks" });
 *   const { taskId } = await control.startTask({ taskType: "BINDER", progression: "manual" });
 *   await control.setTaskStatus(taskId, { status: "COMPLETED" });
 *   const { data } = await control.listDeliveries({ subject: taskId });
 *   expect(data.map(({ event }) => event)).toEqual(["task.running", "task.completed"]);
 * });
 * ```
 */
export function createControlClient(options: ControlClientOptions): ControlApi {
  checkOptions({ baseUrl: "", ...(options as object) }, optionKinds, "createControlClient");
  const baseUrl = options.baseUrl.replace(/\/$/, "");
  const methods = Object.entries(controlCalls).map(([name, [call, kind]]) => {
    const [method = "", path = ""] = call.split(" ");
    const send = (...parameters: unknown[]) => {
      const url = new URL(
        `${baseUrl}/_mock/v1${path.replace(/\{\w+\}/, () => encodeURIComponent(String(parameters.shift())))}`,
      );
      const input = kind && ((parameters.shift() ?? {}) as Input);
      return sendCall({ ...options, baseUrl }, { method, url, kind, input }, parameters[0] as CallOptions);
    };
    return [name, send];
  });
  return Object.fromEntries(methods) as ControlApi;
}

type Input = Readonly<Record<string, unknown>>;
interface Call {
  readonly method: string;
  readonly url: URL;
  readonly kind: "query" | "body" | undefined;
  readonly input: Input | undefined;
}

async function sendCall(
  { baseUrl, fetch = globalThis.fetch, timeoutMs = 30_000 }: ControlClientOptions,
  { method, url, kind, input = {} }: Call,
  { signal }: CallOptions = {},
): Promise<unknown> {
  if (kind === "query") {
    for (const [name, value] of Object.entries(input)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
  }
  const limitMs = timeoutMs + (typeof input["timeoutMs"] === "number" ? input["timeoutMs"] : 0);
  const timeout = AbortSignal.timeout(limitMs);
  try {
    const response = await fetch(url, {
      method,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      ...(kind === "body"
        ? { headers: { "content-type": "application/json" }, body: JSON.stringify(input) }
        : {}),
    });
    return readResponse(response.status, await response.text(), baseUrl);
  } catch (error) {
    if (isMockServerError(error) || signal?.aborted) throw error;
    if (timeout.aborted) {
      throw new MockServerError(
        "REQUEST_TIMEOUT",
        `the mock at ${baseUrl} did not respond within ${limitMs} ms`,
      );
    }
    throw new MockServerError("NETWORK_FAILED", `no mock responds at ${baseUrl}`, { cause: error });
  }
}

interface Rejection {
  readonly error?: {
    readonly code?: MockServerErrorCode;
    readonly message?: string;
    readonly issues?: readonly MockServerIssue[];
  };
}

function readResponse(status: number, text: string, baseUrl: string): unknown {
  const isOk = status >= 200 && status < 300;
  if (isOk && text === "") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (isOk && value !== null) return value;
  const { code, message, issues = [] } = (value as Rejection | null)?.error ?? {};
  if (!code || !message || !mockServerErrorCodes.includes(code)) {
    throw new MockServerError("RESPONSE_INVALID", `expected a mock at ${baseUrl}, got HTTP ${status}`);
  }
  throw new MockServerError(code, message, { issues });
}
