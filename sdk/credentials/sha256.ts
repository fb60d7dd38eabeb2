/**
 * The SHA-256 of a text, in hex. Loaded by the first call that needs it: importing `node:crypto` takes longer than
 * importing the SDK, and a program that calls the service pays for it in any case, in `fetch`.
 */
export function sha256(text: string): string {
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(text).digest("hex");
}
