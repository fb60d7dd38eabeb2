import { ByteBuffer, joinBytes } from "@workspace-tasks/kernel/bytes.ts";
import { uploadStorageBytesMax } from "../settings/settings.ts";
import type { UploadRecord } from "../state/records.ts";
import type { World } from "../world/world.ts";

/** An upload request is rejected with an HTTP status; the client gets the message. */
export class UploadError extends Error {
  override readonly name = "UploadError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An upload of this workspace; any other is as if it did not exist. */
export function findUpload(world: World, workspaceId: string, uploadId: string): UploadRecord {
  const upload = world.state.uploads.get(uploadId);
  if (!upload || upload.workspaceId !== workspaceId) throw new UploadError(404, "upload not found");
  return upload;
}

export function createUpload(
  world: World,
  workspaceId: string,
  input: { readonly lengthBytes: number | null; readonly metadata: Record<string, string> },
): UploadRecord {
  if (input.lengthBytes !== null) checkLength(world, input.lengthBytes);
  const nowMs = world.clock.now();
  const upload: UploadRecord = {
    id: world.newId("upload"),
    workspaceId,
    lengthBytes: input.lengthBytes,
    offsetBytes: 0,
    fileName: input.metadata["filename"] ?? "",
    fileType: input.metadata["filetype"] ?? "application/octet-stream",
    metadata: input.metadata,
    createdAtMs: nowMs,
    completedAtMs: null,
  };
  world.state.uploads.set(upload.id, upload);
  world.state.uploadContents.set(upload.id, []);
  world.emit({ type: "upload.created", uploadId: upload.id, workspaceId });
  completeIfFull(world, upload);
  return upload;
}

/** Sets the length of an upload that was created without one; it can be set once. */
export function setUploadLength(world: World, upload: UploadRecord, lengthBytes: number): void {
  if (upload.lengthBytes !== null && upload.lengthBytes !== lengthBytes) {
    throw new UploadError(400, "Upload-Length cannot change");
  }
  if (lengthBytes < upload.offsetBytes) {
    throw new UploadError(400, "Upload-Length is less than the bytes received");
  }
  checkLength(world, lengthBytes);
  upload.lengthBytes = lengthBytes;
  completeIfFull(world, upload);
}

/** What Node reads of a socket at once. */
const blockBytes = 65_536;

/** Appends bytes as they arrive; they stay when the connection is lost afterwards. */
export function appendToUpload(world: World, upload: UploadRecord, bytes: Uint8Array): void {
  if (world.state.uploads.get(upload.id) !== upload) throw new UploadError(404, "upload not found");
  checkLength(world, upload.offsetBytes + bytes.length);
  if (upload.lengthBytes !== null && upload.offsetBytes + bytes.length > upload.lengthBytes) {
    throw new UploadError(413, "more bytes than Upload-Length");
  }
  if (storedBytes(world) + bytes.length > uploadStorageBytesMax) {
    throw new UploadError(507, "the limit of stored upload bytes is reached");
  }
  const blocks = world.state.uploadContents.get(upload.id) ?? [];
  const last = blocks.at(-1);
  const block = last && last.length < blockBytes ? last : new ByteBuffer();
  if (block !== last) blocks.push(block);
  block.append(bytes);
  upload.offsetBytes += bytes.length;
  completeIfFull(world, upload);
}

export function deleteUpload(world: World, upload: UploadRecord): void {
  world.state.uploads.delete(upload.id);
  world.state.uploadContents.delete(upload.id);
  world.emit({ type: "upload.deleted", uploadId: upload.id, workspaceId: upload.workspaceId });
}

/** The bytes received so far. */
export function uploadContent(world: World, uploadId: string): Uint8Array {
  const blocks = world.state.uploadContents.get(uploadId) ?? [];
  return joinBytes(blocks.map((block) => block.toBytes()));
}

function completeIfFull(world: World, upload: UploadRecord): void {
  if (upload.completedAtMs !== null || upload.offsetBytes !== upload.lengthBytes) return;
  upload.completedAtMs = world.clock.now();
  world.emit({ type: "upload.completed", uploadId: upload.id, workspaceId: upload.workspaceId });
}

function checkLength(world: World, bytes: number): void {
  if (bytes > world.settings.bounds.uploadBytesMax) {
    throw new UploadError(413, `an upload may have at most ${world.settings.bounds.uploadBytesMax} bytes`);
  }
}

function storedBytes(world: World): number {
  let bytes = 0;
  for (const upload of world.state.uploads.values()) bytes += upload.offsetBytes;
  return bytes;
}
