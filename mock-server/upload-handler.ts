// Resumable uploads by the tus protocol, version 1.0.0, with the extensions creation, creation-with-upload,
// creation-defer-length and termination. Bytes are kept as they arrive: a client that lost its connection gets the
// offset with HEAD and resumes there.

import { fromBase64, textOfUtf8, toBase64, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { faultEffects, type PlainResponse, serveWithFaults, toFetchResponse } from "./faults.ts";
import { authorise, keyIdOf } from "./rules/identity.ts";
import {
  appendToUpload,
  createUpload,
  deleteUpload,
  findUpload,
  setUploadLength,
  UploadError,
} from "./rules/uploads.ts";
import type { UploadRecord } from "./state/records.ts";
import type { Hold } from "./time/virtual-clock.ts";
import type { World } from "./world/world.ts";

/**
 * Serves one upload request with the faults injected into it. In a fault plan its operation is `upload.post`,
 * `upload.patch`, `upload.head` or `upload.delete`.
 */
export async function serveUpload(
  world: World,
  request: Request,
  { path, hold }: { readonly path: string; readonly hold: Pick<Hold, "pause" | "resume"> | null },
): Promise<Response> {
  const caller = authorise(world, request.headers.get("authorization"));
  const run = () => handleUpload(request, world, path);
  const faults = world.faults.drawApi({
    keyId: keyIdOf(caller),
    router: "base",
    operations: [`upload.${request.method.toLowerCase()}`],
    content: new URL(request.url).pathname.slice(path.length),
    isCounted: false,
  });
  if (faults.length === 0) return run();
  const effects = faultEffects(world, () => caller, hold);
  const response = await serveWithFaults(faults, effects, async () => toPlainResponse(await run()));
  if (response.abort?.kind === "stall") hold?.pause();
  return toFetchResponse(response);
}

async function toPlainResponse(response: Response): Promise<PlainResponse> {
  const { status, headers } = response;
  return { status, headers: Object.fromEntries(headers), body: await response.text() };
}

/** Uploads that are being written, so that two PATCH requests cannot interleave. */
const writing = new WeakSet<UploadRecord>();

/** Serves one request below `path`, that of the collection. Does not count towards the rate limit. */
async function handleUpload(request: Request, world: World, path: string): Promise<Response> {
  try {
    return await dispatch(request, world, path);
  } catch (error) {
    if (!(error instanceof UploadError)) throw error;
    const headers = error.status === 412 ? { "Tus-Version": tusVersion } : {};
    return respond(error.status, headers, JSON.stringify({ error: { message: error.message } }));
  }
}

async function dispatch(request: Request, world: World, path: string): Promise<Response> {
  const method = request.headers.get("x-http-method-override")?.toUpperCase() ?? request.method;
  if (method === "OPTIONS") return capabilities(world);
  if (request.headers.get("tus-resumable") !== tusVersion) {
    throw new UploadError(412, `Tus-Resumable must be ${tusVersion}`);
  }
  const workspaceId = workspaceOf(world, request.headers.get("authorization"), method !== "HEAD");
  const url = new URL(request.url);
  const uploadId = url.pathname.slice(path.length).replace(/^\//, "");
  if (uploadId === "") {
    if (method !== "POST") throw new UploadError(405, `${method} needs the URL of an upload`);
    return create(request, world, { workspaceId, path });
  }
  const upload = findUpload(world, workspaceId, uploadId);
  if (method === "HEAD") return progress(upload);
  if (method === "PATCH") return append(request, world, upload);
  if (method === "DELETE") {
    deleteUpload(world, upload);
    return respond(204);
  }
  throw new UploadError(405, `${method} is not a method of uploads`);
}

/** The workspace that the `Authorization` header gives access to. */
function workspaceOf(world: World, authorization: string | null, writes: boolean): string {
  const caller = authorise(world, authorization);
  if (caller.kind !== "member") throw new UploadError(401, "Unauthorized");
  if (writes && caller.access === "read_only") throw new UploadError(403, "Unauthorized");
  return caller.workspace.id;
}

function capabilities(world: World): Response {
  return respond(204, {
    "Tus-Version": tusVersion,
    "Tus-Extension": tusExtensions,
    "Tus-Max-Size": String(world.settings.bounds.uploadBytesMax),
  });
}

async function create(
  request: Request,
  world: World,
  { workspaceId, path }: { readonly workspaceId: string; readonly path: string },
): Promise<Response> {
  const lengthBytes = readByteCount(request.headers, "upload-length");
  const deferred = request.headers.get("upload-defer-length");
  if (deferred !== null && deferred !== "1") throw new UploadError(400, "Upload-Defer-Length must be 1");
  if ((lengthBytes === null) === (deferred === null)) {
    throw new UploadError(400, "expected either Upload-Length or Upload-Defer-Length");
  }
  const metadata = parseMetadata(request.headers.get("upload-metadata"));
  const upload = createUpload(world, workspaceId, { lengthBytes, metadata });
  // Without scheme and host: only the client knows them when a proxy is between.
  const headers: Record<string, string> = { Location: `${path}/${upload.id}` };
  if (request.headers.get("content-type") === offsetMediaType) {
    await receive(request, world, upload);
    headers["Upload-Offset"] = String(upload.offsetBytes);
  }
  return respond(201, headers);
}

function progress(upload: UploadRecord): Response {
  return respond(200, {
    "Upload-Offset": String(upload.offsetBytes),
    ...(upload.lengthBytes === null
      ? { "Upload-Defer-Length": "1" }
      : { "Upload-Length": String(upload.lengthBytes) }),
    "Upload-Metadata": formatMetadata(upload.metadata),
    "Cache-Control": "no-store",
  });
}

async function append(request: Request, world: World, upload: UploadRecord): Promise<Response> {
  if (request.headers.get("content-type") !== offsetMediaType) {
    throw new UploadError(415, `Content-Type must be ${offsetMediaType}`);
  }
  const offsetBytes = readByteCount(request.headers, "upload-offset");
  if (offsetBytes === null) throw new UploadError(400, "Upload-Offset is missing");
  if (writing.has(upload)) throw new UploadError(423, "another request writes to this upload");
  if (offsetBytes !== upload.offsetBytes) {
    throw new UploadError(409, `Upload-Offset is ${offsetBytes}, the upload is at ${upload.offsetBytes}`);
  }
  const lengthBytes = readByteCount(request.headers, "upload-length");
  if (lengthBytes !== null) setUploadLength(world, upload, lengthBytes);
  const bodyBytes = readByteCount(request.headers, "content-length");
  if (bodyBytes !== null && upload.lengthBytes !== null && offsetBytes + bodyBytes > upload.lengthBytes) {
    throw new UploadError(413, "more bytes than Upload-Length");
  }
  await receive(request, world, upload);
  return respond(204, { "Upload-Offset": String(upload.offsetBytes) });
}

/** Appends the body chunk by chunk; after a lost connection the received bytes stay. */
async function receive(request: Request, world: World, upload: UploadRecord): Promise<void> {
  if (!request.body) return;
  writing.add(upload);
  try {
    for await (const chunk of request.body) appendToUpload(world, upload, chunk);
  } catch (error) {
    if (error instanceof UploadError) throw error;
    // The client disconnected; received bytes stay and HEAD reports the offset.
    throw new UploadError(400, "the connection was closed before the end of the body");
  } finally {
    writing.delete(upload);
  }
}

function respond(status: number, headers: Record<string, string> = {}, body: string | null = null): Response {
  return new Response(body, {
    status,
    headers: {
      "Tus-Resumable": tusVersion,
      ...(body === null ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
  });
}

const tusVersion = "1.0.0";
const tusExtensions = "creation,creation-with-upload,creation-defer-length,termination";
const offsetMediaType = "application/offset+octet-stream";

/** Reads a header with a whole number of bytes; `null` without the header. */
function readByteCount(headers: Headers, name: string): number | null {
  const text = headers.get(name);
  if (text === null) return null;
  if (!/^\d{1,15}$/.test(text)) throw new UploadError(400, `${name} must be a whole number of bytes`);
  return Number(text);
}

/**
 * Reads `Upload-Metadata`: pairs separated by commas, each a key and, after one space, its value in base64. The
 * value is optional.
 */
export function parseMetadata(text: string | null): Record<string, string> {
  const metadata = new Map<string, string>();
  if (text === null || text.trim() === "") return {};
  for (const pair of text.split(",")) {
    const [key = "", value = "", ...rest] = pair.trim().split(" ");
    const wellFormed = /^[\x21-\x7e]+$/.test(key) && isBase64(value) && rest.length === 0;
    if (!wellFormed || metadata.has(key)) {
      throw new UploadError(400, "Upload-Metadata must be distinct keys with base64 values");
    }
    metadata.set(key, textOfUtf8(fromBase64(value) ?? new Uint8Array()));
  }
  return Object.fromEntries(metadata);
}

function formatMetadata(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .map(([key, value]) => (value === "" ? key : `${key} ${toBase64(utf8(value))}`))
    .join(",");
}

const isBase64 = (text: string) =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
