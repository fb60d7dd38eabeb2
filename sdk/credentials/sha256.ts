import { utf8 } from "@workspace-tasks/kernel/bytes.ts";
import fastSha256 from "fast-sha256";

/** The SHA-256 of a text, in hex. Not of `node:crypto`, which browsers do not have, nor of their own, which is asynchronous. */
export function sha256(text: string): string {
  return Array.from(fastSha256.hash(utf8(text)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
