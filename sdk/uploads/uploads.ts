import * as s from "@workspace-tasks/kernel/schema.ts";
import type { CallScope } from "../call/call-scope.ts";
import {
  type Failure,
  type FailureContext,
  FailureError,
  failure,
  onProgressFailed,
  toError,
} from "../call/failure.ts";
import type { Redactor } from "../call/redactor.ts";
import type { Engine } from "../engine/engine.ts";
import { WorkspaceTasksError } from "../errors.ts";
import type { ResolvedOptions } from "../options.ts";
import {
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
import { checkInput } from "../validation/check-input.ts";
import { urlBelow } from "../validation/service-url.ts";
import {
  isUploadUrl,
  runTusUpload,
  type TusLink,
  type TusRequest,
  type TusState,
  uploadIdOf,
} from "./tus.ts";
import { createUploadSource, type UploadBody, type UploadSource } from "./upload-source.ts";

export interface UploadProgress {
  /** Bytes the service has confirmed. */
  readonly sentBytes: number;
  /** `null` while a stream of unknown length is still being read. */
  readonly totalBytes: number | null;
  /** URL of the upload; another process can continue it with `resumeUrl`. */
  readonly uploadUrl: string;
}

export interface UploadOptions {
  /** Name of the file, with its extension. */
  readonly fileName: string;
  /** For example `application/pdf`. */
  readonly mimeType: string;
  /** Purpose of the file; free text, sent as it is. */
  readonly intent?: string | undefined;
  /** Length of a stream, if it is known. Bytes and Blobs have a length of their own. */
  readonly sizeBytes?: number | undefined;
  /** Bytes per request, 1 to 100,000,000. Default 5,000,000. Up to this much of a stream is kept in memory. */
  readonly chunkBytes?: number | undefined;
  /** Continues the upload with this `UploadProgress.uploadUrl`. The body is the same, from its beginning. */
  readonly resumeUrl?: string | undefined;
  /**
   * Called after each step that the service confirmed. A promise that it returns is awaited before the next chunk; a
   * failure ends the upload with `ON_PROGRESS_FAILED`.
   */
  readonly onProgress?: ((progress: UploadProgress) => unknown) | undefined;
  /** Ends the upload. */
  readonly signal?: AbortSignal | undefined;
  /** Limit for one request of the upload. Default: the client's `timeoutMs`, else 120,000 ms. */
  readonly timeoutMs?: number | undefined;
  /** Limit for the whole upload, the reading of its body included. Default: the client's `deadlineMs`, else 3,600,000 ms. */
  readonly deadlineMs?: number | undefined;
  /** Retries in a row without a byte confirmed in between. Default: the client's `maxRetries`. */
  readonly maxRetries?: number | undefined;
}

export interface Upload {
  /** For `taxClients.create` and `taxClients.addDocuments`. */
  readonly uploadId: string;
  readonly uploadUrl: string;
  readonly sizeBytes: number;
}

export interface Uploads {
  /**
   * Uploads a document in chunks over tus 1.0.0 and resolves to its id once the service has confirmed every byte.
   *
   * After a cut connection, a timeout or a 5xx it asks for the confirmed offset and continues from there, with a fresh
   * token where needed. Not counted against the rate limit. Errors: `UPLOAD_BODY_INVALID`, `UPLOAD_REJECTED`,
   * `UPLOAD_LOST`, `UPLOAD_FAILED`, `ON_PROGRESS_FAILED`, `TOKEN_REJECTED`, `PERMISSION_DENIED`, `RESPONSE_INVALID`,
   * `ABORTED`, `DEADLINE_EXCEEDED`, `CLIENT_CLOSED`. A failed upload has no effect until its id is used; sending it again
   * creates a second upload. Beyond the interface, which names the upload endpoint without its shape (documented).
   *
   * @see interface §4, §8
   */
  upload(body: UploadBody, options: UploadOptions): Promise<Upload>;
}

const uploadInput = s.strictObject({
  fileName: s.nonBlankString,
  mimeType: s.nonBlankString,
  intent: s.optional(s.string),
  sizeBytes: s.optional(s.integerBetween(1, Number.MAX_SAFE_INTEGER)),
  chunkBytes: s.withDefault(s.integerBetween(1, 100_000_000), 5_000_000),
  resumeUrl: s.optional(s.nonEmptyString),
  onProgress: s.optional(s.functionOf<(progress: UploadProgress) => unknown>()),
  signal: s.optional(s.abortSignal),
  timeoutMs: s.optional(s.durationMs),
  deadlineMs: s.optional(s.durationMs),
  maxRetries: s.optional(s.integerBetween(0, 100)),
});

type UploadInput = ReturnType<typeof uploadInput>;

type OptionsUsed =
  | "fetch"
  | "clock"
  | "random"
  | "headers"
  | "baseUrl"
  | "maxRetries"
  | "uploadTimeoutMs"
  | "longDeadlineMs";

export interface UploadsOptions extends Pick<ResolvedOptions, OptionsUsed> {
  readonly redactor: Redactor;
}

export function createUploads(engine: Engine, client: UploadsOptions): Uploads {
  const endpointUrl = urlBelow(client.baseUrl, "/api/uploads").href;
  return {
    async upload(body, options) {
      const source = createUploadSource(body);
      try {
        const input = checkInput("uploads.upload", uploadInput, options);
        if (source === null) throw new WorkspaceTasksError("ARGUMENT_INVALID", bodyExpected(body));
        return await uploadSource(source, input);
      } finally {
        source?.release();
      }
    },
  };

  async function uploadSource(source: UploadSource, input: UploadInput): Promise<Upload> {
    const { fileName, mimeType, intent, resumeUrl, signal, onProgress } = input;
    const sizeBytes = source.sizeBytes ?? input.sizeBytes ?? null;
    const scope = engine.openScope({ signal, limitMs: input.deadlineMs ?? client.longDeadlineMs });
    const link = createUploadLink({
      ...client,
      engine,
      scope,
      timeoutMs: input.timeoutMs ?? client.uploadTimeoutMs,
      onProgress: ({ url, offset, length }) =>
        onProgress?.({ sentBytes: offset, totalBytes: length ?? sizeBytes, uploadUrl: url }),
    });
    try {
      const upload = {
        endpointUrl,
        source,
        sizeBytes,
        metadata: { filename: fileName, filetype: mimeType, ...(intent === undefined ? {} : { intent }) },
        chunkBytes: input.chunkBytes,
        maxRetries: input.maxRetries ?? client.maxRetries,
        resumeUrl: resumeUrl === undefined ? null : checkResumeUrl(resumeUrl, endpointUrl),
      };
      const { url, offset } = await scope.race(runTusUpload(upload, link));
      return { uploadId: uploadIdOf(url, endpointUrl) ?? "", uploadUrl: url, sizeBytes: offset };
    } catch (error) {
      throw error instanceof FailureError
        ? toUploadError(error, { attempts: link.attempts, redactor: client.redactor })
        : error;
    } finally {
      scope.dispose();
    }
  }
}

/** Without a request there is no effect. How far an upload came that was ended in flight is unknown. */
function toUploadError({ failure }: FailureError, context: FailureContext): WorkspaceTasksError {
  const outcome =
    context.attempts === 0 ? "not_sent" : failure.outcome === "rejected" ? "rejected" : "unknown";
  const operation = { method: "uploads.upload", name: undefined };
  return toError({ ...failure, outcome }, { ...context, operation });
}

function bodyExpected(body: unknown): string {
  const hint = typeof body === "string" ? "; for a file pass createReadStream(path)" : "";
  return `uploads.upload: expected bytes, a Blob, a ReadableStream or an async iterable of bytes, got ${s.kindOf(body)}${hint}`;
}

/** Throws for a URL that must not receive the token, or is none of an upload. */
function checkResumeUrl(resumeUrl: string, endpointUrl: string): string {
  if (isUploadUrl(resumeUrl, endpointUrl)) return resumeUrl;
  const { origin } = new URL(endpointUrl);
  throw new WorkspaceTasksError(
    "ARGUMENT_INVALID",
    `uploads.upload: resumeUrl: expected an upload at ${origin}, got another place`,
  );
}

interface UploadLinkOptions extends UploadsOptions {
  readonly engine: Pick<Engine, "workspaceToken">;
  /** Lifetime of the whole upload. */
  readonly scope: CallScope;
  /** Limit for one request. */
  readonly timeoutMs: number;
  onProgress(state: TusState): unknown;
}

interface UploadLink extends TusLink {
  /** Requests sent. */
  readonly attempts: number;
}

/**
 * Connects the upload protocol to the service. Each request has its own time limit and takes the current token, because a
 * long upload outlives many tokens.
 */
function createUploadLink(options: UploadLinkOptions): UploadLink {
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
  if (!head) throw new FailureError(notResponse(s.kindOf(response)));
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
