// The resumable upload protocol, tus 1.0.0, as far as an upload needs it: POST creates the upload, PATCH sends a chunk,
// HEAD returns the confirmed offset. After anything that leaves the offset in doubt (a cut connection, a timeout, a 5xx,
// a 409) the offset is requested before another byte is sent. Failures in a row are limited; only a byte beyond all
// earlier ones resets the count.

import { type Failure, FailureError, failure, toError } from "../call/failure.ts";
import type { UploadChunk, UploadSource } from "./upload-source.ts";

export interface TusRequest {
  readonly method: "POST" | "HEAD" | "PATCH";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export interface TusResponse {
  readonly status: number;
  readonly headers: Headers;
}

/** What the protocol needs: authorised requests, pauses, and a progress callback. */
export interface TusLink {
  send(request: TusRequest): Promise<TusResponse>;
  /** Waits before attempt number `failures` + 1; longer when the service asked for it. */
  pause(failures: number, response: TusResponse | undefined): Promise<void>;
  onProgress(state: TusState): void;
}

/** The upload as the service has confirmed it. */
export interface TusState {
  readonly url: string;
  readonly offset: number;
  /** Total length; `null` until the service knows it. */
  readonly length: number | null;
}

export interface TusUpload {
  readonly endpointUrl: string;
  readonly source: UploadSource;
  readonly metadata: Readonly<Record<string, string>>;
  readonly chunkBytes: number;
  /** Retries in a row without a byte confirmed in between. */
  readonly maxRetries: number;
  /** Continues this upload instead of creating one. */
  readonly resumeUrl: string | null;
}

/** Sends a whole source. Returns the last state that the service confirmed. */
export async function runTusUpload(upload: TusUpload, link: TusLink): Promise<TusState> {
  const retry = createRetry(upload.maxRetries, link);
  let state =
    upload.resumeUrl === null
      ? await create(upload, link, retry)
      : await ask(upload, link, retry, { url: upload.resumeUrl, offset: 0, length: null });
  link.onProgress(state);
  let furthest = state.offset;
  while (state.offset !== state.length) {
    const chunk = await readChunk(upload, state.offset);
    state = await sendChunk(upload, link, retry, state, chunk);
    // A service that keeps losing bytes makes no progress, and must not keep the upload going without end.
    if (state.offset > furthest) {
      furthest = state.offset;
      retry.reset();
      link.onProgress(state);
    }
  }
  return state;
}

/** The value of `Upload-Metadata`: keys in clear, values in base64 of UTF-8. */
export function encodeMetadata(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .map(([key, value]) => `${key} ${Buffer.from(value, "utf8").toString("base64")}`)
    .join(",");
}

async function create(upload: TusUpload, link: TusLink, retry: Retry): Promise<TusState> {
  const first = await readChunk(upload, 0);
  const length = upload.source.sizeBytes ?? (first.last ? first.bytes.byteLength : null);
  const response = await retry.run("create the upload", () =>
    link.send({
      method: "POST",
      url: upload.endpointUrl,
      headers: {
        ...(length === null ? { "upload-defer-length": "1" } : { "upload-length": `${length}` }),
        "upload-metadata": encodeMetadata(upload.metadata),
      },
    }),
  );
  if (response.status !== 201) throw rejected("create the upload", response);
  return { url: locationOf(response, upload.endpointUrl), offset: 0, length };
}

/** Requests the confirmed offset. */
async function ask(upload: TusUpload, link: TusLink, retry: Retry, before: TusState): Promise<TusState> {
  const response = await retry.run("ask for the upload's offset", () =>
    link.send({ method: "HEAD", url: before.url, headers: {} }),
  );
  if (response.status !== 200 && response.status !== 204)
    throw rejected("ask for the upload's offset", response);
  const offset = countIn(response, "upload-offset");
  if (offset === null) throw failed("the service sent no upload offset", { httpStatus: response.status });
  const length = countIn(response, "upload-length") ?? before.length;
  const { sizeBytes } = upload.source;
  if (length !== null && sizeBytes !== null && length !== sizeBytes) {
    throw sourceFailed(
      `expected a body of ${length} bytes, as when the upload was created, got ${sizeBytes}`,
    );
  }
  return { url: before.url, offset, length };
}

async function sendChunk(
  upload: TusUpload,
  link: TusLink,
  retry: Retry,
  state: TusState,
  chunk: UploadChunk,
): Promise<TusState> {
  const end = state.offset + chunk.bytes.byteLength;
  const length = state.length ?? (chunk.last ? end : null);
  const response = await retry.once("send a chunk", () =>
    link.send({
      method: "PATCH",
      url: state.url,
      headers: {
        "content-type": "application/offset+octet-stream",
        "upload-offset": `${state.offset}`,
        ...(length === state.length ? {} : { "upload-length": `${length}` }),
      },
      body: chunk.bytes,
    }),
  );
  if (response === null) return askUpTo(end);
  if (response.status !== 204 && response.status !== 200) throw rejected("send a chunk", response);
  const offset = countIn(response, "upload-offset");
  const confirmed = offset !== null && offset <= end && (offset > state.offset || end === state.offset);
  if (confirmed) return { url: state.url, offset, length };
  await retry.spend("send a chunk", failed("the service sent an impossible upload offset"), response);
  return askUpTo(end);

  async function askUpTo(offsetMax: number): Promise<TusState> {
    const asked = await ask(upload, link, retry, state);
    if (asked.offset > offsetMax) throw failed("the service confirms bytes that were never sent");
    return asked;
  }
}

async function readChunk({ source, chunkBytes }: TusUpload, offset: number): Promise<UploadChunk> {
  const chunk = await readSource(source, offset, chunkBytes);
  if (chunk === null) {
    throw lost("the service confirms an offset from which the body cannot be read any more");
  }
  const end = offset + chunk.bytes.byteLength;
  const { sizeBytes } = source;
  if (sizeBytes !== null && (chunk.last ? end !== sizeBytes : end >= sizeBytes)) {
    throw sourceFailed(`expected a body of ${sizeBytes} bytes, got ${chunk.last ? end : "more"}`);
  }
  return chunk;
}

async function readSource(source: UploadSource, offset: number, lengthMax: number) {
  try {
    return await source.chunkAt(offset, lengthMax);
  } catch (cause) {
    throw sourceFailed("the body could not be read", cause);
  }
}

interface Retry {
  /** Sends until the outcome is certain. */
  run(what: string, send: () => Promise<TusResponse>): Promise<TusResponse>;
  /** Sends once; `null` when the offset is in doubt. */
  once(what: string, send: () => Promise<TusResponse>): Promise<TusResponse | null>;
  /** Counts a failure and waits, or throws when there were too many. */
  spend(what: string, cause: unknown, response?: TusResponse): Promise<void>;
  reset(): void;
}

function createRetry(maxRetries: number, link: TusLink): Retry {
  let failures = 0;

  async function spend(what: string, cause: unknown, response?: TusResponse): Promise<void> {
    failures += 1;
    if (failures > maxRetries) {
      const status = response === undefined ? "" : `, the last response was HTTP ${response.status}`;
      throw failed(`could not ${what}: ${failures} failures in a row${status}`, {
        cause: cause instanceof FailureError ? toError(cause.failure, { attempts: 1 }) : cause,
        httpStatus: response?.status,
      });
    }
    await link.pause(failures, response);
  }

  async function once(what: string, send: () => Promise<TusResponse>): Promise<TusResponse | null> {
    try {
      const response = await send();
      if (!isTransient(response.status)) return response;
      await spend(what, undefined, response);
    } catch (error) {
      if (!isTransientFailure(error)) throw error;
      await spend(what, error);
    }
    return null;
  }

  return {
    once,
    spend,
    async run(what, send) {
      for (;;) {
        const response = await once(what, send);
        if (response !== null) return response;
      }
    },
    reset() {
      failures = 0;
    },
  };
}

// 409 means that the offset is another one, 423 that an earlier, cut request still locks the upload.
const transientStatuses: ReadonlySet<number> = new Set([408, 409, 423, 425, 429]);

function isTransient(status: number): boolean {
  return status >= 500 || transientStatuses.has(status);
}

const transientFailures = ["NETWORK_FAILED", "REQUEST_TIMEOUT", "SERVICE_UNAVAILABLE"];

function isTransientFailure(error: unknown): boolean {
  return error instanceof FailureError && transientFailures.includes(error.failure.code);
}

function locationOf(response: TusResponse, endpointUrl: string): string {
  const location = response.headers.get("location");
  if (location === null || !URL.canParse(location, endpointUrl)) {
    throw failed("the service created an upload without a usable Location");
  }
  const url = new URL(location, endpointUrl);
  // The next requests carry the access token, which is meant for this service only.
  if (url.origin !== new URL(endpointUrl).origin) {
    throw failed(`the service created the upload on another host: expected ${new URL(endpointUrl).origin}`);
  }
  return url.href;
}

function countIn(response: TusResponse, header: string): number | null {
  const text = response.headers.get(header);
  if (text === null || !/^\d{1,15}$/.test(text)) return null;
  return Number(text);
}

function rejected(what: string, { status }: TusResponse): FailureError {
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

function sourceFailed(message: string, cause?: unknown): FailureError {
  return uploadError("UPLOAD_BODY_INVALID", message, { cause });
}

function uploadError(code: Failure["code"], message: string, details: Partial<Failure>): FailureError {
  return new FailureError(failure(code, message, { outcome: "unknown", ...details }));
}
