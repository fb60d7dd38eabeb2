import { readBytes } from "@workspace-tasks/kernel/bytes.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import { checkOptions, urlOption } from "../checks.ts";
import * as errors from "../errors.ts";
import { controlCalls } from "../generated/control-calls.ts";
import { waitTimeoutMs } from "../time/duration.ts";
import { realClock } from "../time/real-clock.ts";
import { type CallName, readArguments } from "./call-arguments.ts";
import type { ControlApi } from "./control-api.ts";
import type { CallOptions } from "./route.ts";

export interface ControlClientOptions {
  /** The mock's `baseUrl`, for example `http://127.0.0.1:4010`. */
  readonly baseUrl: string;
  /** Default: the global `fetch`; `mock.fetch` reaches a mock without a port. */
  readonly fetch?: ((url: URL, init: RequestInit) => Promise<Response>) | undefined;
  /** Time limit of a call; a wait adds its own. Default: 30000. */
  readonly timeoutMs?: number | undefined;
}

const caller = "createControlClient";
const clientOptions = s.strictOptions<ControlClientOptions>()({
  baseUrl: urlOption,
  fetch: s.optional(s.functionOf()),
  timeoutMs: s.optional(s.numberFrom(1)),
});

/**
 * The control API of a mock in another process.
 *
 * In addition to the codes of the mock, a `MockServerError` can have `ARGUMENT_INVALID` before anything is sent,
 * `NETWORK_FAILED`, `REQUEST_TIMEOUT`, or `RESPONSE_INVALID` for a server that is not a mock.
 *
 * @example examples/vitest-fixture.test.ts#control-client
 * ```ts
 * import { createControlClient } from "@workspace-tasks/mock-server";
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
  checkOptions(caller, options, clientOptions);
  const baseUrl = options.baseUrl.replace(/\/$/, "");
  const methods = Object.entries(controlCalls).map(([name, [call, kind]]) => {
    const [method = "", pattern = ""] = call.split(" ");
    const send = async (...parameters: unknown[]) => {
      const { ids, input, options: callOptions } = readArguments(name as CallName, parameters);
      const path = pattern.replace(/\{\w+\}/, () => encodeURIComponent(ids[0] ?? ""));
      const query = kind === "query" ? `?${new URLSearchParams(input as Record<string, string>)}` : "";
      const url = new URL(`${baseUrl}/_mock/v1${path}${query}`);
      const body = kind === "body" ? JSON.stringify(input) : undefined;
      const waitMs = name.startsWith("waitFor") ? Number(input?.["timeoutMs"] ?? waitTimeoutMs) : 0;
      return sendCall({ ...options, baseUrl }, { method, url, body, waitMs }, callOptions);
    };
    return [name, send];
  });
  return Object.fromEntries(methods) as ControlApi;
}

/** The longest is a snapshot. */
const responseBytesMax = 512_000_000;

interface Call {
  readonly method: string;
  readonly url: URL;
  readonly body: string | undefined;
  /** How long the mock may take because it was asked to wait. */
  readonly waitMs: number;
}

async function sendCall(
  { baseUrl, fetch = globalThis.fetch, timeoutMs = 30_000 }: ControlClientOptions,
  { method, url, body, waitMs }: Call,
  { signal }: CallOptions = {},
): Promise<unknown> {
  signal?.throwIfAborted();
  const limitMs = timeoutMs + waitMs;
  const timeout = new AbortController();
  // It keeps the process alive until the time limit, whatever `fetch` does.
  const cancelTimeout = realClock.schedule(limitMs, () => timeout.abort());
  const limits = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal;
  const aborted = new Promise<never>((_, reject) => {
    limits.addEventListener("abort", () => reject(limits.reason), { once: true });
  });
  const request = async () => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const response = await fetch(url, { method, signal: limits, headers, ...(body && { body }) });
    const bytes = await readBytes(response.body, responseBytesMax);
    if (bytes === null) {
      const message = `expected a mock at ${baseUrl}, got more than ${responseBytesMax} bytes`;
      throw new errors.MockServerError("RESPONSE_INVALID", message);
    }
    return readResponse(response.status, new TextDecoder().decode(bytes), baseUrl);
  };
  try {
    // A custom `fetch` may ignore its signal.
    return await Promise.race([request(), aborted]);
  } catch (error) {
    if (errors.isMockServerError(error) || signal?.aborted) throw error;
    if (timeout.signal.aborted) {
      const message = `the mock at ${baseUrl} did not respond within timeoutMs (${timeoutMs})${waitMs > 0 ? ` and the ${waitMs} ms that it was asked to wait` : ""}`;
      throw new errors.MockServerError("REQUEST_TIMEOUT", message);
    }
    throw new errors.MockServerError("NETWORK_FAILED", `no mock responds at ${baseUrl}`, { cause: error });
  } finally {
    cancelTimeout();
  }
}

interface Rejection {
  readonly error?: {
    readonly code?: errors.MockServerErrorCode;
    readonly message?: string;
    readonly issues?: readonly errors.MockServerIssue[];
  };
}

function readResponse(status: number, text: string, baseUrl: string): unknown {
  const isOk = status >= 200 && status < 300;
  if (isOk && text === "") return undefined;
  const value = jsonOrUndefined(text) ?? null;
  if (isOk && value !== null) return value;
  const { code, message, issues = [] } = (value as Rejection | null)?.error ?? {};
  if (!code || !message || !errors.mockServerErrorCodes.includes(code)) {
    throw new errors.MockServerError("RESPONSE_INVALID", `expected a mock at ${baseUrl}, got HTTP ${status}`);
  }
  throw new errors.MockServerError(code, message, { issues });
}
