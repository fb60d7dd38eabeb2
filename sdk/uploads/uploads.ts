import * as s from "@workspace-tasks/kernel/schema.ts";
import { type FailureContext, FailureError, toError } from "../call/failure.ts";
import type { Engine } from "../engine/engine.ts";
import { WorkspaceTasksError } from "../errors.ts";
import { checkInput } from "../validation/check-input.ts";
import { urlBelow } from "../validation/service-url.ts";
import { isUploadUrl, runTusUpload, uploadIdOf } from "./tus.ts";
import { createUploadLink, type UploadLinkOptions } from "./upload-link.ts";
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
   * @example examples/sdk.test.ts#upload
   * ```ts
   * const { uploadId } = await client.uploads.upload(createReadStream(path), {
   *   fileName: "w2.pdf",
   *   mimeType: "application/pdf",
   * });
   * ```
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

export interface UploadsOptions
  extends Pick<UploadLinkOptions, "fetch" | "clock" | "random" | "redactor" | "headers"> {
  readonly baseUrl: URL;
  readonly maxRetries: number;
  readonly uploadTimeoutMs: number;
  readonly longDeadlineMs: number;
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
