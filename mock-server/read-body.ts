import { ByteBuffer } from "@workspace-tasks/kernel/bytes.ts";

/** Reads the body of a fetch request or response; `null` past `bytesMax`. */
export async function readBody(
  { body: parts }: Pick<Response, "body">,
  bytesMax: number,
): Promise<Uint8Array | null> {
  const body = new ByteBuffer();
  for await (const chunk of parts ?? []) {
    if (body.length + chunk.length > bytesMax) return null;
    body.append(chunk);
  }
  return body.toBytes();
}
