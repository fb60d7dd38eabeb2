// How the upload protocol reaches the service: each request has its own time limit and its own look at
// the token, because a long document outlives many tokens.

import { CallScope } from "../call/call-scope.ts";
import { Failed } from "../call/failure.ts";
import type { Engine } from "../engine/engine.ts";
import { parseRetryAfterMs } from "../request/retry-after.ts";
import { backoffMs } from "../request/retry-policy.ts";
import type { TusAnswer, TusLink, TusRequest, TusState } from "./tus.ts";

export interface UploadLinkOptions {
  readonly engine: Engine;
  /** The life of the whole upload. */
  readonly scope: CallScope;
  /** Limit for one request. */
  readonly timeoutMs: number;
  onProgress(state: TusState): void;
}

// A service that asks for more than this is answered with the failure instead of a silent wait.
const pauseMsMax = 60_000;

export interface UploadLink extends TusLink {
  /** Requests that were sent. */
  readonly attempts: number;
}

export function createUploadLink({ engine, scope, timeoutMs, onProgress }: UploadLinkOptions): UploadLink {
  const { clock, random } = engine;
  let attempts = 0;

  async function authorised(request: TusRequest): Promise<TusAnswer> {
    const first = await scope.race(engine.workspaceToken());
    const answer = await attempt(request, first.token);
    if (answer.status !== 401) return answer;
    first.invalidate();
    const second = await scope.race(engine.workspaceToken());
    return attempt(request, second.token);
  }

  async function attempt(request: TusRequest, token: string): Promise<TusAnswer> {
    const limit = new CallScope({
      clock,
      limitMs: timeoutMs,
      onLimit: (limitMs) => ({
        code: "REQUEST_TIMEOUT",
        message: `an upload request took longer than ${limitMs} ms`,
        outcome: "unknown",
        remedy: "repeat",
      }),
    });
    const controller = new AbortController();
    const follow = scope.onEnd((failure) => limit.end(failure));
    limit.onEnd(() => controller.abort());
    attempts += 1;
    try {
      return await limit.race(exchange(engine, request, token, controller.signal));
    } finally {
      follow();
      limit.dispose();
    }
  }

  return {
    get attempts() {
      return attempts;
    },
    async send(request) {
      const answer = await authorised(request);
      if (answer.status === 401 || answer.status === 403) throw denied(answer);
      return answer;
    },
    async pause(failures, answer) {
      const asked = answer && parseRetryAfterMs(answer.headers, clock.now());
      await scope.sleep(Math.max(backoffMs(failures - 1, random), Math.min(asked ?? 0, pauseMsMax)));
    },
    onProgress,
  };
}

async function exchange(
  engine: Engine,
  { method, url, headers, body }: TusRequest,
  token: string,
  signal: AbortSignal,
): Promise<TusAnswer> {
  try {
    const response = await engine.fetch(new URL(url), {
      method,
      headers: { ...headers, "tus-resumable": "1.0.0", authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
      // A followed redirect would carry the token to another host.
      redirect: "manual",
      signal,
    });
    await response.body?.cancel();
    return { status: response.status, headers: response.headers };
  } catch (error) {
    throw new Failed({
      code: "NETWORK_FAILED",
      message: "the connection was lost during an upload",
      outcome: "unknown",
      remedy: "repeat",
      cause: new Error(engine.redact(error instanceof Error ? error.message : "not an error")),
    });
  }
}

function denied({ status }: TusAnswer): Failed {
  const message = `the service refused the upload with HTTP ${status}`;
  return new Failed({
    code: "PERMISSION_DENIED",
    message,
    outcome: "rejected",
    remedy: "none",
    httpStatus: status,
  });
}
