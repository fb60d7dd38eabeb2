import { joinBytes } from "@workspace-tasks/kernel/bytes.ts";

/** Reads the body of a fetch request; `null` past `bytesMax`. */
export async function readBody(request: Request, bytesMax: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > bytesMax) return null;
    chunks.push(chunk);
  }
  return joinBytes(chunks);
}
