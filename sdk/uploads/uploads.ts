import { CallScope } from "../call/call-scope.ts";
import { Failed, type Failure, toError } from "../call/failure.ts";
import type { Engine } from "../engine/engine.ts";
import { WorkspaceTasksError } from "../errors.ts";
import { checkInput, identifier, nonBlank } from "../validation/check-input.ts";
import {
  abortSignal,
  durationMs,
  functionOf,
  integer,
  only,
  optional,
  text,
  withDefault,
} from "../validation/schema.ts";
import { runTusUpload } from "./tus.ts";
import { createUploadLink } from "./upload-link.ts";
import { createUploadSource, type UploadBody } from "./upload-source.ts";

export interface UploadProgress {
  /** Bytes the service has confirmed. */
  readonly sentBytes: number;
  /** `null` while a stream of unknown length is still being read. */
  readonly totalBytes: number | null;
  /** Where the upload lives; with `resumeUrl` another process can continue it. */
  readonly uploadUrl: string;
}

export interface UploadOptions {
  /** Name of the file, with its extension. */
  readonly fileName: string;
  /** For example `application/pdf`. */
  readonly mimeType: string;
  /** What the file is for; free text, sent as it is. */
  readonly intent?: string | undefined;
  /** Length of a stream, when it is known. Bytes and Blobs tell it themselves. */
  readonly sizeBytes?: number | undefined;
  /** Bytes per request. Default 5,000,000, at least 1, at most 100,000,000. A stream is kept in memory this far. */
  readonly chunkBytes?: number | undefined;
  /** Continues the upload of an earlier `UploadProgress.uploadUrl` with the same body, from its beginning. */
  readonly resumeUrl?: string | undefined;
  /** Told after each step that the service confirmed. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Ends the upload wherever it is. */
  readonly signal?: AbortSignal | undefined;
  /** Limit for one request of the upload. Default 120,000 ms. */
  readonly timeoutMs?: number | undefined;
  /** Limit for the whole upload. Default: none but the limits of its requests. */
  readonly deadlineMs?: number | undefined;
  /** Failures in a row, without a byte confirmed in between, that are taken. Default: the client's `maxRetries`. */
  readonly maxRetries?: number | undefined;
}

export interface Upload {
  /** To be named in `taxClients.create` and `taxClients.addDocuments`. */
  readonly uploadId: string;
  readonly uploadUrl: string;
  readonly sizeBytes: number;
}

export interface Uploads {
  /**
   * Uploads a document in chunks over tus 1.0.0 and resolves to its id once the service has confirmed every byte.
   *
   * After a cut connection, a timeout or a 5xx it asks for the confirmed offset and goes on from there, with a fresh
   * token where needed. Not counted against the allowance. Errors: `UPLOAD_BODY_INVALID`, `UPLOAD_REJECTED`,
   * `UPLOAD_LOST`, `UPLOAD_FAILED`, `PERMISSION_DENIED`, `ABORTED`, `DEADLINE_EXCEEDED`, `CLIENT_CLOSED`. A failed
   * upload has no effect until its id is used; sending it again makes a second upload. Beyond the interface, which
   * names the upload endpoint without its shape (documented).
   *
   * @see interface §4, §8
   */
  upload(body: UploadBody, options: UploadOptions): Promise<Upload>;
}

const uploadInput = only({
  fileName: nonBlank,
  mimeType: nonBlank,
  intent: optional(text),
  sizeBytes: optional(integer(0, Number.MAX_SAFE_INTEGER)),
  chunkBytes: withDefault(integer(1, 100_000_000), 5_000_000),
  resumeUrl: optional(identifier),
  onProgress: optional(functionOf<(progress: UploadProgress) => void>()),
  signal: optional(abortSignal),
  timeoutMs: withDefault(durationMs, 120_000),
  deadlineMs: optional(durationMs),
  maxRetries: optional(integer(0, 100)),
});

/** The uploads of a client, with the means to end them all when it closes. */
export function createUploads(engine: Engine): { readonly uploads: Uploads; close(): void } {
  const underWay = new Set<CallScope>();
  let closed = false;

  async function upload(body: UploadBody, options: UploadOptions): Promise<Upload> {
    const checked = checkInput("uploads.upload", uploadInput, options);
    const source = createUploadSource(body, checked.sizeBytes ?? null);
    if (source === null) throw notABody();
    const scope = new CallScope({
      clock: engine.clock,
      signal: checked.signal,
      limitMs: checked.deadlineMs,
      onLimit: (limitMs) => endOf("DEADLINE_EXCEEDED", `the upload took longer than ${limitMs} ms`),
    });
    if (closed) scope.end(clientClosed);
    underWay.add(scope);
    const { timeoutMs, chunkBytes, onProgress } = checked;
    const link = createUploadLink({
      engine,
      scope,
      timeoutMs,
      onProgress: ({ url, offset, length }) =>
        onProgress?.({ sentBytes: offset, totalBytes: length ?? source.sizeBytes, uploadUrl: url }),
    });
    const endpointUrl = uploadsUrl(engine.baseUrl);
    try {
      const state = await scope.race(
        runTusUpload(
          {
            endpointUrl,
            source,
            metadata: {
              filename: checked.fileName,
              filetype: checked.mimeType,
              ...(checked.intent === undefined ? {} : { intent: checked.intent }),
            },
            chunkBytes,
            maxRetries: checked.maxRetries ?? engine.maxRetries,
            resumeUrl: checked.resumeUrl === undefined ? null : ownUrl(checked.resumeUrl, endpointUrl),
          },
          link,
        ),
      );
      return { uploadId: uploadIdOf(state.url), uploadUrl: state.url, sizeBytes: state.offset };
    } catch (error) {
      throw error instanceof Failed ? toUploadError(error.failure, link.attempts) : error;
    } finally {
      underWay.delete(scope);
      scope.dispose();
      source.release();
    }
  }

  return {
    uploads: { upload },
    close() {
      closed = true;
      for (const scope of underWay) scope.end(clientClosed);
    },
  };
}

/** What never left has no effect; of an upload that was ended under way nobody knows how far it came. */
function toUploadError(failure: Failure, attempts: number): WorkspaceTasksError {
  const outcome = attempts === 0 ? "not_sent" : failure.outcome === "rejected" ? "rejected" : "unknown";
  return toError({ ...failure, outcome }, { attempts });
}

function uploadsUrl(baseUrl: URL): string {
  return `${baseUrl.href.replace(/\/+$/, "")}/api/uploads`;
}

/** The last segment of the path. */
function uploadIdOf(uploadUrl: string): string {
  return decodeURIComponent(new URL(uploadUrl).pathname.replace(/\/+$/, "").split("/").at(-1) ?? "");
}

/** A URL that may be sent the token. */
function ownUrl(resumeUrl: string, endpointUrl: string): string {
  const endpoint = new URL(endpointUrl);
  if (URL.canParse(resumeUrl) && new URL(resumeUrl).origin === endpoint.origin) return resumeUrl;
  throw new WorkspaceTasksError(
    "ARGUMENT_INVALID",
    `uploads.upload: resumeUrl: expected an upload at ${endpoint.origin}, got another place`,
  );
}

function notABody(): WorkspaceTasksError {
  return new WorkspaceTasksError(
    "ARGUMENT_INVALID",
    "uploads.upload: expected bytes, a Blob, a ReadableStream or an async iterable of bytes, got something else",
  );
}

const clientClosed = endOf("CLIENT_CLOSED", "the client was closed during the upload");

function endOf(code: Failure["code"], message: string): Failure {
  return { code, message, outcome: "unknown", remedy: "none" };
}
