// The resumable upload protocol, tus 1.0.0, as far as an upload needs it: POST creates the upload, PATCH sends a chunk,
// HEAD returns the confirmed offset. After anything that leaves the offset in doubt (a cut connection, a timeout, a 5xx,
// a 409) the offset is requested before another byte is sent. Failures in a row are limited; only a byte beyond all
// earlier ones resets the count.

import { toBase64, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { type Failure, FailureError, failure, toError } from "../call/failure.ts";
import type { ResponseHead } from "../request/fetch.ts";
import type { UploadChunk, UploadSource } from "./upload-source.ts";

export interface TusRequest {
  readonly method: "POST" | "HEAD" | "PATCH";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** What the protocol needs: authorised requests, pauses, and a progress callback. */
export interface TusLink {
  send(request: TusRequest): Promise<ResponseHead>;
  /** Waits before attempt number `failures` + 1; longer when the service asked for it. */
  pause(failures: number, response: ResponseHead | undefined): Promise<void>;
  /** The next chunk is sent once this has resolved. */
  onProgress(state: TusState): Promise<void>;
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
  /** Total length, if it is known before the source is read. */
  readonly sizeBytes: number | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly chunkBytes: number;
  /** Retries in a row without a byte confirmed in between. */
  readonly maxRetries: number;
  /** Continues this upload instead of creating one. */
  readonly resumeUrl: string | null;
}

/** Sends a whole source. Returns the last state that the service confirmed. */
export function runTusUpload(upload: TusUpload, link: TusLink): Promise<TusState> {
  return new Transfer(upload, link).run();
}

class Transfer {
  readonly #upload: TusUpload;
  readonly #link: TusLink;
  #failuresInARow = 0;

  constructor(upload: TusUpload, link: TusLink) {
    this.#upload = upload;
    this.#link = link;
  }

  async run(): Promise<TusState> {
    const { resumeUrl } = this.#upload;
    let state =
      resumeUrl === null
        ? await this.#create()
        : await this.#fetchOffset({ url: resumeUrl, offset: 0, length: null });
    await this.#link.onProgress(state);
    let furthest = state.offset;
    while (state.offset !== state.length) {
      state = await this.#sendChunk(state);
      // A service that keeps losing bytes makes no progress, and must not keep the upload going without end.
      if (state.offset > furthest) {
        furthest = state.offset;
        this.#failuresInARow = 0;
        await this.#link.onProgress(state);
      }
    }
    return state;
  }

  async #create(): Promise<TusState> {
    const { endpointUrl, sizeBytes, metadata } = this.#upload;
    const first = await this.#readChunk(0, sizeBytes);
    const length = sizeBytes ?? (first.last ? first.bytes.byteLength : null);
    const headers = {
      ...(length === null ? { "upload-defer-length": "1" } : { "upload-length": `${length}` }),
      "upload-metadata": encodeMetadata(metadata),
    };
    const what = "create the upload";
    const response = await this.#sendUntilCertain(what, { method: "POST", url: endpointUrl, headers });
    if (response.status !== 201) throw rejected(what, response);
    return { url: locationOf(response, endpointUrl), offset: 0, length };
  }

  /** Requests the confirmed offset. */
  async #fetchOffset({ url, length: knownLength }: TusState): Promise<TusState> {
    const what = "request the upload's offset";
    const response = await this.#sendUntilCertain(what, { method: "HEAD", url, headers: {} });
    if (response.status !== 200 && response.status !== 204) throw rejected(what, response);
    const offset = countIn(response, "upload-offset");
    if (offset === null) throw failed("the service sent no upload offset", { httpStatus: response.status });
    const length = countIn(response, "upload-length") ?? knownLength;
    const { sizeBytes } = this.#upload;
    if (length !== null && sizeBytes !== null && length !== sizeBytes) {
      throw sourceFailed(
        `expected a body of ${length} bytes, as when the upload was created, got ${sizeBytes}`,
      );
    }
    return { url, offset, length };
  }

  async #sendChunk(state: TusState): Promise<TusState> {
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
    if (confirmed.offset > end && this.#upload.resumeUrl === null)
      throw failed("the service confirms bytes that were never sent");
    return confirmed;
  }

  /** @param length of the whole body, if it is known: an upload must not go on past it */
  async #readChunk(offset: number, length: number | null): Promise<UploadChunk> {
    const { source, chunkBytes } = this.#upload;
    const chunk = await source.chunkAt(offset, chunkBytes).catch((cause: unknown) => {
      throw sourceFailed("the body could not be read", cause);
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
      const response = await this.#link.send(request);
      if (!isTransient(response.status)) return response;
      await this.#countFailure(what, undefined, response);
    } catch (error) {
      if (!isTransientFailure(error)) throw error;
      await this.#countFailure(what, error);
    }
    return null;
  }

  /** Waits after a failure, or throws when there were too many in a row. */
  async #countFailure(what: string, cause: unknown, response?: ResponseHead): Promise<void> {
    this.#failuresInARow += 1;
    if (this.#failuresInARow > this.#upload.maxRetries) {
      const last = cause instanceof FailureError ? toError(cause.failure, { attempts: 1 }) : undefined;
      const reason = response ? `HTTP ${response.status}` : `${last?.code}, ${last?.message}`;
      throw failed(`could not ${what} (failures in a row: ${this.#failuresInARow}, the last: ${reason})`, {
        cause: last,
        httpStatus: response?.status,
      });
    }
    await this.#link.pause(this.#failuresInARow, response);
  }
}

/** The value of `Upload-Metadata`: keys in clear, values in base64 of UTF-8. */
function encodeMetadata(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .map(([key, value]) => `${key} ${toBase64(utf8(value))}`)
    .join(",");
}

// 409 means that the offset is another one, 423 that an earlier, cut request still locks the upload.
const transientStatuses: ReadonlySet<number> = new Set([408, 409, 423, 425, 429]);

function isTransient(status: number): boolean {
  return status >= 500 || transientStatuses.has(status);
}

function isTransientFailure(error: unknown): boolean {
  return error instanceof FailureError && error.failure.remedy === "repeat";
}

function locationOf(response: ResponseHead, endpointUrl: string): string {
  const location = response.headers.get("location") ?? "";
  const url = URL.canParse(location, endpointUrl) ? new URL(location, endpointUrl) : undefined;
  // Behind a proxy that ends TLS a service takes its own address for http.
  if (url && endpointUrl.startsWith("https:") && url.protocol === "http:") url.protocol = "https:";
  if (url && isUploadUrl(url.href, endpointUrl)) return url.href;
  throw failed(`expected the Location of an upload at ${new URL(endpointUrl).origin}, got another or none`);
}

/** Whether it is an upload of the service. Requests to it carry the access token, which is meant for no other host. */
export function isUploadUrl(url: string, endpointUrl: string): boolean {
  if (!URL.canParse(url)) return false;
  const { origin, username, password } = new URL(url);
  // `fetch` rejects a URL with a password, and its error shows it.
  if (origin !== new URL(endpointUrl).origin || username !== "" || password !== "") return false;
  return uploadIdOf(url, endpointUrl) !== null;
}

/** The last segment of an upload's path; `null` when there is none, or none that can be read. */
export function uploadIdOf(uploadUrl: string, endpointUrl: string): string | null {
  const [path, endpointPath] = [uploadUrl, endpointUrl].map((url) =>
    new URL(url).pathname.replace(/\/+$/, ""),
  );
  const id = path?.split("/").at(-1);
  if (id === undefined || id === "" || path === endpointPath) return null;
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

function sourceFailed(message: string, cause?: unknown): FailureError {
  return uploadError("UPLOAD_BODY_INVALID", message, { cause });
}

function uploadError(code: Failure["code"], message: string, details: Partial<Failure>): FailureError {
  return new FailureError(failure(code, message, { outcome: "unknown", ...details }));
}
