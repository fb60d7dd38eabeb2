/**
 * The SHA-256 of a text, in hex. `node:crypto` is loaded by the first call: importing it takes longer than importing
 * the SDK (benchmark "Importing the SDK"), and `fetch` loads it in any case.
 */
export function sha256(text: string): string {
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(text).digest("hex");
}
