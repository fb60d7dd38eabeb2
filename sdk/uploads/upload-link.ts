// Connects the upload protocol to the service. Each request has its own time limit and takes the current token, because
// a long upload outlives many tokens.

import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import type { Random } from "@workspace-tasks/kernel/random.ts";
import { kindOf } from "@workspace-tasks/kernel/schema.ts";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError, failure, onProgressFailed } from "../call/failure.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Engine } from "../engine/engine.ts";
import {
  type Fetch,
  type FetchBytes,
  type FetchResponse,
  headOf,
  ResponseBody,
  type ResponseHead,
  requestDefaults,
} from "../request/fetch.ts";
import { networkFailure, notResponse } from "../request/network-failure.ts";
import { readResponseDetails } from "../request/response-details.ts";
import { parseRetryAfterMs } from "../request/retry-after.ts";
import { backoffMs, retryAfterMsMax } from "../request/retry-policy.ts";
import type { TusLink, TusRequest, TusState } from "./tus.ts";

export interface UploadLinkOptions {
  readonly engine: Pick<Engine, "workspaceToken">;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly random: Random;
  readonly redactor: Redactor;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Lifetime of the whole upload. */
  readonly scope: CallScope;
  /** Limit for one request. */
  readonly timeoutMs: number;
  onProgress(state: TusState): unknown;
}

export interface UploadLink extends TusLink {
  /** Requests sent. */
  readonly attempts: number;
}

export function createUploadLink(options: UploadLinkOptions): UploadLink {
  const { engine, scope, clock, random, redactor, timeoutMs, onProgress } = options;
  let attempts = 0;

  async function sendWithToken(request: TusRequest): Promise<ResponseHead> {
    const { token, replace } = await engine.workspaceToken(scope);
    const response = await attempt(request, token);
    if (response.status !== 401 || !replace()) return response;
    const fresh = await engine.workspaceToken(scope);
    return attempt(request, fresh.token);
  }

  function attempt(request: TusRequest, token: string): Promise<ResponseHead> {
    attempts += 1;
    return scope.within({ limitMs: timeoutMs, onLimit: timedOut }, (limited) => {
      const controller = new AbortController();
      limited.onEnd(() => controller.abort());
      return sendRequest(options, request, token, controller.signal);
    });
  }

  return {
    get attempts() {
      return attempts;
    },
    async send(request) {
      const response = await sendWithToken(request);
      const { status } = response;
      if (status !== 401 && status !== 403) return response;
      const message = `the service rejected the upload with HTTP ${status}`;
      const code = status === 401 ? "TOKEN_REJECTED" : "PERMISSION_DENIED";
      const details = readResponseDetails(response, redactor);
      throw new FailureError(failure(code, message, { outcome: "rejected", httpStatus: status, ...details }));
    },
    async pause(failures, response) {
      const retryAfterMs = response && parseRetryAfterMs(response.headers, clock.now());
      if (response && (retryAfterMs ?? 0) > retryAfterMsMax) {
        const message = `the service asks to wait ${Math.ceil((retryAfterMs ?? 0) / 1_000)} s (HTTP ${response.status})`;
        const details = { outcome: "unknown", httpStatus: response.status, retryAfterMs } as const;
        throw new FailureError(failure("UPLOAD_FAILED", message, details));
      }
      await scope.sleep(Math.max(backoffMs(failures - 1, random), retryAfterMs ?? 0));
    },
    async onProgress(state) {
      try {
        await onProgress(state);
      } catch (error) {
        throw new FailureError(onProgressFailed(error));
      }
    },
  };
}

async function sendRequest(
  { fetch, redactor, headers: given }: UploadLinkOptions,
  { method, url, headers, body }: TusRequest,
  token: string,
  signal: AbortSignal,
): Promise<ResponseHead> {
  let response: FetchResponse;
  try {
    response = await fetch(new URL(url), {
      method,
      headers: { ...given, ...headers, "tus-resumable": "1.0.0", authorization: `Bearer ${token}` },
      ...(body && { body: unshared(body) }),
      ...requestDefaults(),
      signal,
    });
  } catch (error) {
    throw new FailureError(networkFailure(error, false, { redactor, host: new URL(url).host }));
  }
  const head = headOf(response);
  if (!head) throw new FailureError(notResponse(kindOf(response)));
  new ResponseBody(response).cancel();
  return head;
}

/** The same memory, unless it is shared, which `fetch` does not take. */
function unshared(bytes: Uint8Array): FetchBytes {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as FetchBytes) : new Uint8Array(bytes);
}

function timedOut(limitMs: number): Failure {
  const message = `an upload request took longer than timeoutMs (${limitMs})`;
  return failure("REQUEST_TIMEOUT", message, { outcome: "unknown", remedy: "repeat" });
}
