import { ByteBuffer } from "@workspace-tasks/kernel/bytes.ts";

/** Reads the body of a fetch request; `null` past `bytesMax`. */
export async function readBody(request: Request, bytesMax: number): Promise<Uint8Array | null> {
  const body = new ByteBuffer();
  for await (const chunk of request.body ?? []) {
    if (body.length + chunk.length > bytesMax) return null;
    body.append(chunk);
  }
  return body.toBytes();
}
