// Resumable uploads by the tus protocol, version 1.0.0, with the extensions creation, creation-with-upload,
// creation-defer-length and termination. Bytes are kept as they arrive: a client that lost its connection gets the
// offset with HEAD and resumes there.

import { authorise } from "../rules/identity/caller.ts";
import {
  appendToUpload,
  createUpload,
  deleteUpload,
  findUpload,
  setUploadLength,
  UploadError,
} from "../rules/uploads/uploads.ts";
import type { UploadRecord } from "../state/records.ts";
import type { World } from "../world/world.ts";
import * as tus from "./tus-headers.ts";

/** Uploads that are being written, so that two PATCH requests cannot interleave. */
const writing = new WeakSet<UploadRecord>();

/** Serves one request below `path`, that of the collection. Does not count towards the rate limit. */
export async function handleUpload(request: Request, world: World, path: string): Promise<Response> {
  try {
    return await dispatch(request, world, path);
  } catch (error) {
    if (!(error instanceof UploadError)) throw error;
    const headers = error.status === 412 ? { "Tus-Version": tus.tusVersion } : {};
    return respond(error.status, headers, JSON.stringify({ error: { message: error.message } }));
  }
}

async function dispatch(request: Request, world: World, path: string): Promise<Response> {
  const method = request.headers.get("x-http-method-override")?.toUpperCase() ?? request.method;
  if (method === "OPTIONS") return capabilities(world);
  if (request.headers.get("tus-resumable") !== tus.tusVersion) {
    throw new UploadError(412, `Tus-Resumable must be ${tus.tusVersion}`);
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
    "Tus-Version": tus.tusVersion,
    "Tus-Extension": tus.tusExtensions,
    "Tus-Max-Size": String(world.settings.bounds.uploadBytesMax),
  });
}

async function create(
  request: Request,
  world: World,
  { workspaceId, path }: { readonly workspaceId: string; readonly path: string },
): Promise<Response> {
  const lengthBytes = tus.readByteCount(request.headers, "upload-length");
  const deferred = request.headers.get("upload-defer-length");
  if (deferred !== null && deferred !== "1") throw new UploadError(400, "Upload-Defer-Length must be 1");
  if ((lengthBytes === null) === (deferred === null)) {
    throw new UploadError(400, "expected either Upload-Length or Upload-Defer-Length");
  }
  const metadata = tus.parseMetadata(request.headers.get("upload-metadata"));
  const upload = createUpload(world, workspaceId, { lengthBytes, metadata });
  // Without scheme and host: only the client knows them when a proxy is between.
  const headers: Record<string, string> = { Location: `${path}/${upload.id}` };
  if (request.headers.get("content-type") === tus.offsetMediaType) {
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
    "Upload-Metadata": tus.formatMetadata(upload.metadata),
    "Cache-Control": "no-store",
  });
}

async function append(request: Request, world: World, upload: UploadRecord): Promise<Response> {
  if (request.headers.get("content-type") !== tus.offsetMediaType) {
    throw new UploadError(415, `Content-Type must be ${tus.offsetMediaType}`);
  }
  const offsetBytes = tus.readByteCount(request.headers, "upload-offset");
  if (offsetBytes === null) throw new UploadError(400, "Upload-Offset is missing");
  if (writing.has(upload)) throw new UploadError(423, "another request writes to this upload");
  if (offsetBytes !== upload.offsetBytes) {
    throw new UploadError(409, `Upload-Offset is ${offsetBytes}, the upload is at ${upload.offsetBytes}`);
  }
  const lengthBytes = tus.readByteCount(request.headers, "upload-length");
  if (lengthBytes !== null) setUploadLength(world, upload, lengthBytes);
  const bodyBytes = tus.readByteCount(request.headers, "content-length");
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
      "Tus-Resumable": tus.tusVersion,
      ...(body === null ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
  });
}
