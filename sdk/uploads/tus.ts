// The resumable upload protocol, tus 1.0.0, as far as an upload needs it: create with POST, send with
// PATCH, ask for the confirmed offset with HEAD. After anything that leaves the offset in doubt (a cut
// connection, a timeout, a 5xx, a 409) the service is asked before another byte is sent. Failures that
// bring no byte forward are counted and bounded; each confirmed byte resets the count.

import { Failed, type Failure, toError } from "../call/failure.ts";
import { isWorkspaceTasksError } from "../errors.ts";
import type { UploadChunk, UploadSource } from "./upload-source.ts";

export interface TusRequest {
  readonly method: "POST" | "HEAD" | "PATCH";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export interface TusAnswer {
  readonly status: number;
  readonly headers: Headers;
}

/** What the protocol is given: an authorised way to send, a way to wait, and somebody to tell. */
export interface TusLink {
  send(request: TusRequest): Promise<TusAnswer>;
  /** Waits before try number `failures` + 1; longer when the service asked for it. */
  pause(failures: number, answer: TusAnswer | undefined): Promise<void>;
  onProgress(state: TusState): void;
}

/** What is known of an upload on the service's side. */
export interface TusState {
  readonly url: string;
  /** Confirmed by the service. */
  readonly offset: number;
  /** Total length as the service knows it; `null` while it was not told. */
  readonly length: number | null;
}

export interface TusUpload {
  readonly endpointUrl: string;
  readonly source: UploadSource;
  readonly metadata: Readonly<Record<string, string>>;
  readonly chunkBytes: number;
  /** Failures in a row, without a byte confirmed between them, that are taken before giving up. */
  readonly maxRetries: number;
  /** Continues this upload instead of creating one. */
  readonly resumeUrl: string | null;
}

/** Sends a whole source. Returns the state that the service confirmed last: everything. */
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
    // Only new ground counts as progress: a service that keeps losing bytes must not keep us for ever.
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
  const answer = await retry.run("create the upload", () =>
    link.send({
      method: "POST",
      url: upload.endpointUrl,
      headers: {
        ...(length === null ? { "upload-defer-length": "1" } : { "upload-length": `${length}` }),
        "upload-metadata": encodeMetadata(upload.metadata),
      },
    }),
  );
  if (answer.status !== 201) throw refused("create the upload", answer);
  return { url: locationOf(answer, upload.endpointUrl), offset: 0, length };
}

/** Asks where the upload stands. */
async function ask(upload: TusUpload, link: TusLink, retry: Retry, before: TusState): Promise<TusState> {
  const answer = await retry.run("ask for the upload's offset", () =>
    link.send({ method: "HEAD", url: before.url, headers: {} }),
  );
  if (answer.status !== 200 && answer.status !== 204) throw refused("ask for the upload's offset", answer);
  const offset = countIn(answer, "upload-offset");
  if (offset === null) throw failed("the service named no upload offset", { httpStatus: answer.status });
  const length = countIn(answer, "upload-length") ?? before.length;
  const { sizeBytes } = upload.source;
  if (length !== null && sizeBytes !== null && length !== sizeBytes) {
    throw sourceFailed(`expected a body of ${length} bytes, as the upload was created, got ${sizeBytes}`);
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
  const answer = await retry.once("send a chunk", () =>
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
  if (answer === null) return askUpTo(end);
  if (answer.status !== 204 && answer.status !== 200) throw refused("send a chunk", answer);
  const offset = countIn(answer, "upload-offset");
  const confirmed = offset !== null && offset <= end && (offset > state.offset || end === state.offset);
  if (confirmed) return { url: state.url, offset, length };
  await retry.spend("send a chunk", failed("the service named an impossible upload offset"), answer);
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
    throw lost("the service confirms an offset that the body cannot be read from any more");
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
  /** Sends until an answer settles the matter. */
  run(what: string, send: () => Promise<TusAnswer>): Promise<TusAnswer>;
  /** Sends once; `null` when the offset is in doubt and may be asked for. */
  once(what: string, send: () => Promise<TusAnswer>): Promise<TusAnswer | null>;
  /** Counts a failure and waits, or throws when it was one too many. */
  spend(what: string, cause: unknown, answer?: TusAnswer): Promise<void>;
  reset(): void;
}

function createRetry(maxRetries: number, link: TusLink): Retry {
  let failures = 0;

  async function spend(what: string, cause: unknown, answer?: TusAnswer): Promise<void> {
    failures += 1;
    if (failures > maxRetries) {
      const status = answer === undefined ? "" : `, the last answer was HTTP ${answer.status}`;
      throw failed(`could not ${what}: ${failures} failures in a row${status}`, {
        cause: cause instanceof Failed ? toError(cause.failure, { attempts: 1 }) : cause,
        httpStatus: answer?.status,
      });
    }
    await link.pause(failures, answer);
  }

  async function once(what: string, send: () => Promise<TusAnswer>): Promise<TusAnswer | null> {
    try {
      const answer = await send();
      if (!isPassing(answer.status)) return answer;
      await spend(what, undefined, answer);
    } catch (error) {
      if (!isPassingFailure(error)) throw error;
      await spend(what, error);
    }
    return null;
  }

  return {
    once,
    spend,
    async run(what, send) {
      for (;;) {
        const answer = await once(what, send);
        if (answer !== null) return answer;
      }
    },
    reset() {
      failures = 0;
    },
  };
}

// 409 says that the offset is another; 423 that an earlier, cut request still holds the upload.
const passingStatuses: ReadonlySet<number> = new Set([408, 409, 423, 425, 429]);

function isPassing(status: number): boolean {
  return status >= 500 || passingStatuses.has(status);
}

const passingFailures = ["NETWORK_FAILED", "REQUEST_TIMEOUT", "SERVICE_UNAVAILABLE"] as const;

function isPassingFailure(error: unknown): boolean {
  const { code } = error instanceof Failed ? error.failure : isWorkspaceTasksError(error) ? error : {};
  return passingFailures.some((passing) => passing === code);
}

function locationOf(answer: TusAnswer, endpointUrl: string): string {
  const location = answer.headers.get("location");
  if (location === null || !URL.canParse(location, endpointUrl)) {
    throw failed("the service created an upload without saying where");
  }
  const url = new URL(location, endpointUrl);
  // The next requests carry the access token, and it belongs to this service only.
  if (url.origin !== new URL(endpointUrl).origin) {
    throw failed(`the service placed the upload on another host: expected ${new URL(endpointUrl).origin}`);
  }
  return url.href;
}

function countIn(answer: TusAnswer, header: string): number | null {
  const text = answer.headers.get(header);
  if (text === null || !/^\d{1,15}$/.test(text)) return null;
  return Number(text);
}

function refused(what: string, { status }: TusAnswer): Failed {
  if (status === 404 || status === 410)
    return lost(`could not ${what}: the service no longer holds it`, status);
  const message = `could not ${what}: the service answered HTTP ${status}`;
  return failedAs("UPLOAD_REJECTED", message, { outcome: "rejected", httpStatus: status });
}

function lost(message: string, httpStatus?: number): Failed {
  return failedAs("UPLOAD_LOST", message, { outcome: "rejected", httpStatus });
}

function failed(message: string, details: Partial<Failure> = {}): Failed {
  return failedAs("UPLOAD_FAILED", message, details);
}

function sourceFailed(message: string, cause?: unknown): Failed {
  return failedAs("UPLOAD_BODY_INVALID", message, { cause });
}

function failedAs(code: Failure["code"], message: string, details: Partial<Failure>): Failed {
  return new Failed({ outcome: "unknown", remedy: "none", ...details, code, message });
}
