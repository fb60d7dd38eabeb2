import { fromBase64, textOfUtf8, toBase64, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { UploadError } from "../rules/uploads/uploads.ts";

export const tusVersion = "1.0.0";
export const tusExtensions = "creation,creation-with-upload,creation-defer-length,termination";
export const offsetMediaType = "application/offset+octet-stream";

/** Reads a header with a whole number of bytes; `null` without the header. */
export function readByteCount(headers: Headers, name: string): number | null {
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

export function formatMetadata(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .map(([key, value]) => (value === "" ? key : `${key} ${toBase64(utf8(value))}`))
    .join(",");
}

const isBase64 = (text: string) =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
