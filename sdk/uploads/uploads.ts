// Uploads, over the resumable protocol tus 1.0.0: POST creates an upload, PATCH sends a chunk, HEAD returns the confirmed
// offset. After anything that leaves the offset in doubt (a cut connection, a timeout, a 5xx, a 409) the offset is
// requested before another byte is sent. Failures in a row are limited; only a byte beyond all earlier ones resets the
// count.

import { toBase64, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import * as s from "@workspace-tasks/kernel/schema.ts";
import type { CallScope } from "../call/call-scope.ts";
import { type Failure, FailureError, failure, onProgressFailed, toError } from "../call/failure.ts";
import type { Engine } from "../engine/engine.ts";
import { WorkspaceTasksError } from "../errors.ts";
import type { ResolvedOptions } from "../options.ts";
import {
  networkFailure,
  notResponse,
  parseRetryAfterMs,
  readResponseDetails,
} from "../request/classify-response.ts";
import {
  type FetchBytes,
  type FetchResponse,
  headOf,
  ResponseBody,
  type ResponseHead,
  requestDefaults,
} from "../request/fetch.ts";
import { backoffMs, retryAfterMsMax } from "../request/retry-policy.ts";
import { checkInput, urlBelow } from "../validation.ts";
import { createUploadSource, type UploadBody, type UploadChunk, type UploadSource } from "./upload-source.ts";

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

export function createUploads(engine: Engine, client: ResolvedOptions): Uploads {
  return {
    async upload(body, options) {
      const source = createUploadSource(body);
      try {
        const input = checkInput("uploads.upload", uploadInput, options);
        if (source === null) throw new WorkspaceTasksError("ARGUMENT_INVALID", bodyExpected(body));
        return await new Transfer(engine, client, source, input).run();
      } finally {
        source?.release();
      }
    },
  };
}

function bodyExpected(body: unknown): string {
  const hint = typeof body === "string" ? "; for a file pass createReadStream(path)" : "";
  return `uploads.upload: expected bytes, a Blob, a ReadableStream or an async iterable of bytes, got ${s.kindOf(body)}${hint}`;
}

/** The upload as the service has confirmed it. */
interface Confirmed {
  readonly url: string;
  readonly offset: number;
  /** Total length; `null` until the service knows it. */
  readonly length: number | null;
}

interface TusRequest {
  readonly method: "POST" | "HEAD" | "PATCH";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

class Transfer {
  readonly #engine: Engine;
  readonly #client: ResolvedOptions;
  readonly #source: UploadSource;
  readonly #input: UploadInput;
  readonly #scope: CallScope;
  readonly #endpointUrl: string;
  /** Total length, if it is known before the source is read. */
  readonly #sizeBytes: number | null;
  #attempts = 0;
  #failuresInARow = 0;

  constructor(engine: Engine, client: ResolvedOptions, source: UploadSource, input: UploadInput) {
    const limitMs = input.deadlineMs ?? client.longDeadlineMs;
    this.#engine = engine;
    this.#client = client;
    this.#source = source;
    this.#input = input;
    this.#scope = engine.openScope({ signal: input.signal, limitMs });
    this.#endpointUrl = urlBelow(client.baseUrl, "/api/uploads").href;
    this.#sizeBytes = source.sizeBytes ?? input.sizeBytes ?? null;
  }

  async run(): Promise<Upload> {
    try {
      const { url, offset } = await this.#scope.race(this.#sendAll());
      return { uploadId: uploadIdOf(url, this.#endpointUrl) ?? "", uploadUrl: url, sizeBytes: offset };
    } catch (error) {
      throw error instanceof FailureError ? this.#toError(error.failure) : error;
    } finally {
      this.#scope.dispose();
    }
  }

  /** Without a request there is no effect. How far an upload came that was ended in flight is unknown. */
  #toError(found: Failure): WorkspaceTasksError {
    const attempts = this.#attempts;
    const known = found.outcome === "rejected" ? "rejected" : "unknown";
    const outcome = attempts === 0 ? "not_sent" : known;
    const operation = { method: "uploads.upload", name: undefined };
    return toError({ ...found, outcome }, { attempts, operation, redactor: this.#client.redactor });
  }

  /** Sends the whole source. Returns what the service has confirmed last. */
  async #sendAll(): Promise<Confirmed> {
    let state = await this.#begin();
    await this.#report(state);
    let furthest = state.offset;
    while (state.offset !== state.length) {
      state = await this.#sendChunk(state);
      // A service that keeps losing bytes makes no progress, and must not keep the upload going without end.
      if (state.offset > furthest) {
        furthest = state.offset;
        this.#failuresInARow = 0;
        await this.#report(state);
      }
    }
    return state;
  }

  /** The next chunk is sent once the caller has seen this one. */
  async #report({ url, offset, length }: Confirmed): Promise<void> {
    const progress = { sentBytes: offset, totalBytes: length ?? this.#sizeBytes, uploadUrl: url };
    try {
      await this.#input.onProgress?.(progress);
    } catch (error) {
      throw new FailureError(onProgressFailed(error));
    }
  }

  #begin(): Promise<Confirmed> {
    const { resumeUrl } = this.#input;
    if (resumeUrl === undefined) return this.#create();
    if (uploadIdOf(resumeUrl, this.#endpointUrl) !== null) {
      return this.#fetchOffset({ url: resumeUrl, offset: 0, length: null });
    }
    // It would receive the token.
    const expected = `expected an upload at ${new URL(this.#endpointUrl).origin}, got another place`;
    throw new WorkspaceTasksError("ARGUMENT_INVALID", `uploads.upload: resumeUrl: ${expected}`);
  }

  async #create(): Promise<Confirmed> {
    const url = this.#endpointUrl;
    const first = await this.#readChunk(0, this.#sizeBytes);
    const length = this.#sizeBytes ?? (first.last ? first.bytes.byteLength : null);
    const headers = {
      ...(length === null ? { "upload-defer-length": "1" } : { "upload-length": `${length}` }),
      "upload-metadata": metadataOf(this.#input),
    };
    const what = "create the upload";
    const response = await this.#sendUntilCertain(what, { method: "POST", url, headers });
    if (response.status !== 201) throw rejected(what, response);
    return { url: locationOf(response, url), offset: 0, length };
  }

  /** Requests the confirmed offset. */
  async #fetchOffset({ url, length: knownLength }: Confirmed): Promise<Confirmed> {
    const what = "request the upload's offset";
    const response = await this.#sendUntilCertain(what, { method: "HEAD", url, headers: {} });
    if (response.status !== 200 && response.status !== 204) throw rejected(what, response);
    const offset = countIn(response, "upload-offset");
    if (offset === null) throw failed("the service sent no upload offset", { httpStatus: response.status });
    const length = countIn(response, "upload-length") ?? knownLength;
    const sizeBytes = this.#sizeBytes;
    if (length !== null && sizeBytes !== null && length !== sizeBytes) {
      throw sourceFailed(
        `expected a body of ${length} bytes, as when the upload was created, got ${sizeBytes}`,
      );
    }
    return { url, offset, length };
  }

  async #sendChunk(state: Confirmed): Promise<Confirmed> {
    const { url, offset: start } = state;
    const chunk = await this.#readChunk(start, state.length);
    const end = start + chunk.bytes.byteLength;
    const length = state.length ?? (chunk.last ? end : null);
    const headers = {
      "content-type": "application/offset+octet-stream",
      "upload-offset": `${start}`,
      ...(length === state.length ? {} : { "upload-length": `${length}` }),
    };
    const what = "send a chunk";
    const response = await this.#sendOnce(what, { method: "PATCH", url, headers, body: chunk.bytes });
    if (response !== null) {
      if (response.status !== 204 && response.status !== 200) throw rejected(what, response);
      const offset = countIn(response, "upload-offset");
      const isPossible = offset !== null && offset <= end && (offset > start || end === start);
      if (isPossible) return { url, offset, length };
      await this.#countFailure(what, failed("the service sent an impossible upload offset"), response);
    }
    const confirmed = await this.#fetchOffset(state);
    // Bytes of the process whose upload is continued may still arrive.
    if (confirmed.offset > end && this.#input.resumeUrl === undefined)
      throw failed("the service confirms bytes that were never sent");
    return confirmed;
  }

  /** @param length of the whole body, if it is known: an upload must not go on past it */
  async #readChunk(offset: number, length: number | null): Promise<UploadChunk> {
    const chunk = await this.#source.chunkAt(offset, this.#input.chunkBytes).catch((cause: unknown) => {
      throw sourceFailed("the body could not be read", { cause });
    });
    if (chunk === null) {
      throw lost("the service confirms an offset from which the body cannot be read any more");
    }
    const end = offset + chunk.bytes.byteLength;
    if (end === 0) throw sourceFailed("expected a body of at least one byte, got none");
    if (length !== null && (chunk.last ? end !== length : end >= length)) {
      throw sourceFailed(`expected a body of ${length} bytes, got ${chunk.last ? end : "more"}`);
    }
    return chunk;
  }

  async #sendUntilCertain(what: string, request: TusRequest): Promise<ResponseHead> {
    for (;;) {
      const response = await this.#sendOnce(what, request);
      if (response !== null) return response;
    }
  }

  /** Sends once; `null` when the outcome is in doubt. */
  async #sendOnce(what: string, request: TusRequest): Promise<ResponseHead | null> {
    try {
      const response = await this.#send(request);
      if (!isTransient(response.status)) return response;
      await this.#countFailure(what, undefined, response);
    } catch (error) {
      if (!(error instanceof FailureError) || error.failure.remedy !== "repeat") throw error;
      await this.#countFailure(what, error);
    }
    return null;
  }

  /** Waits after a failure, longer when the service asks for it, or throws when there were too many in a row. */
  async #countFailure(what: string, cause: unknown, response?: ResponseHead): Promise<void> {
    this.#failuresInARow += 1;
    if (this.#failuresInARow > (this.#input.maxRetries ?? this.#client.maxRetries)) {
      const last = cause instanceof FailureError ? toError(cause.failure, { attempts: 1 }) : undefined;
      const reason = response ? `HTTP ${response.status}` : `${last?.code}, ${last?.message}`;
      throw failed(`could not ${what} (failures in a row: ${this.#failuresInARow}, the last: ${reason})`, {
        cause: last,
        httpStatus: response?.status,
      });
    }
    const { clock, random } = this.#client;
    const retryAfterMs = (response && parseRetryAfterMs(response.headers, clock.now())) ?? 0;
    if (response && retryAfterMs > retryAfterMsMax) {
      const message = `the service asks to wait ${Math.ceil(retryAfterMs / 1_000)} s (HTTP ${response.status})`;
      throw failed(message, { httpStatus: response.status, retryAfterMs });
    }
    await this.#scope.sleep(Math.max(backoffMs(this.#failuresInARow - 1, random), retryAfterMs));
  }

  /** Each request takes the current token, because a long upload outlives many tokens. */
  async #send(request: TusRequest): Promise<ResponseHead> {
    const { token, replace } = await this.#engine.workspaceToken(this.#scope);
    let response = await this.#attempt(request, token);
    if (response.status === 401 && replace()) {
      const fresh = await this.#engine.workspaceToken(this.#scope);
      response = await this.#attempt(request, fresh.token);
    }
    const { status: httpStatus } = response;
    if (httpStatus !== 401 && httpStatus !== 403) return response;
    const code = httpStatus === 401 ? "TOKEN_REJECTED" : "PERMISSION_DENIED";
    const details = {
      outcome: "rejected",
      httpStatus,
      ...readResponseDetails(response, this.#client.redactor),
    } as const;
    throw uploadError(code, `the service rejected the upload with HTTP ${httpStatus}`, details);
  }

  #attempt({ method, url, headers, body }: TusRequest, token: string): Promise<ResponseHead> {
    const { fetch, redactor, headers: given, uploadTimeoutMs } = this.#client;
    this.#attempts += 1;
    const limitMs = this.#input.timeoutMs ?? uploadTimeoutMs;
    return this.#scope.within({ limitMs, onLimit: timedOut }, async (limited) => {
      const controller = new AbortController();
      limited.onEnd(() => controller.abort());
      let response: FetchResponse;
      try {
        response = await fetch(new URL(url), {
          method,
          headers: { ...given, ...headers, "tus-resumable": "1.0.0", authorization: `Bearer ${token}` },
          ...(body && { body: unshared(body) }),
          ...requestDefaults(),
          signal: controller.signal,
        });
      } catch (error) {
        throw new FailureError(networkFailure(error, false, { redactor, host: new URL(url).host }));
      }
      const head = headOf(response);
      if (!head) throw new FailureError(notResponse(s.kindOf(response)));
      new ResponseBody(response).cancel();
      return head;
    });
  }
}

/** The same memory, unless it is shared, which `fetch` does not take. */
function unshared(bytes: Uint8Array): FetchBytes {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as FetchBytes) : new Uint8Array(bytes);
}

function timedOut(limitMs: number): Failure {
  const message = `an upload request took longer than timeoutMs (${limitMs})`;
  return failure("REQUEST_TIMEOUT", message, { outcome: "unknown", remedy: "repeat" });
}

/** The value of `Upload-Metadata`: keys in clear, values in base64 of UTF-8. */
function metadataOf({ fileName, mimeType, intent }: UploadInput): string {
  return Object.entries({ filename: fileName, filetype: mimeType, ...(intent !== undefined && { intent }) })
    .map(([key, value]) => `${key} ${toBase64(utf8(value))}`)
    .join(",");
}

// 409 means that the offset is another one, 423 that an earlier, cut request still locks the upload.
const transientStatuses: ReadonlySet<number> = new Set([408, 409, 423, 425, 429]);

function isTransient(status: number): boolean {
  return status >= 500 || transientStatuses.has(status);
}

function locationOf(response: ResponseHead, endpointUrl: string): string {
  const location = response.headers.get("location") ?? "";
  const url = URL.canParse(location, endpointUrl) ? new URL(location, endpointUrl) : undefined;
  // Behind a proxy that ends TLS a service takes its own address for http.
  if (url && endpointUrl.startsWith("https:") && url.protocol === "http:") url.protocol = "https:";
  if (url && uploadIdOf(url.href, endpointUrl) !== null) return url.href;
  throw failed(`expected the Location of an upload at ${new URL(endpointUrl).origin}, got another or none`);
}

/**
 * The id in the URL of an upload of the service; `null` for another URL. Requests to it carry the access token, which is meant
 * for no other host.
 */
function uploadIdOf(url: string, endpointUrl: string): string | null {
  if (!URL.canParse(url)) return null;
  const { origin, username, password, pathname } = new URL(url);
  const endpoint = new URL(endpointUrl);
  // `fetch` rejects a URL with a password, and its error shows it.
  if (origin !== endpoint.origin || username !== "" || password !== "") return null;
  const path = pathname.replace(/\/+$/, "");
  const id = path.split("/").at(-1);
  if (id === undefined || id === "" || path === endpoint.pathname) return null;
  try {
    return decodeURIComponent(id);
  } catch {
    return null;
  }
}

function countIn(response: ResponseHead, header: string): number | null {
  const text = response.headers.get(header);
  if (text === null || !/^\d{1,15}$/.test(text)) return null;
  return Number(text);
}

function rejected(what: string, { status }: ResponseHead): FailureError {
  if (status === 404 || status === 410)
    return lost(`could not ${what}: the service has no such upload any more`, status);
  const message = `could not ${what}: the service responded with HTTP ${status}`;
  return uploadError("UPLOAD_REJECTED", message, { outcome: "rejected", httpStatus: status });
}

function lost(message: string, httpStatus?: number): FailureError {
  return uploadError("UPLOAD_LOST", message, { outcome: "rejected", httpStatus });
}

function failed(message: string, details: Partial<Failure> = {}): FailureError {
  return uploadError("UPLOAD_FAILED", message, details);
}

function sourceFailed(message: string, details: Partial<Failure> = {}): FailureError {
  return uploadError("UPLOAD_BODY_INVALID", message, details);
}

function uploadError(code: Failure["code"], message: string, details: Partial<Failure>): FailureError {
  return new FailureError(failure(code, message, { outcome: "unknown", ...details }));
}
