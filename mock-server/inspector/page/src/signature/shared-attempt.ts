// A link that holds one attempt with its bytes: its reader needs a mock, but not the mock of the sender. The
// attempt is compressed into the fragment of the address, which no browser sends to a server.

import { hashOf } from "../address.ts";
import type { DeliveryAttempt, DeliveryDetail } from "../api-types.ts";

export type SharedAttempt = Pick<DeliveryDetail, "event" | "url"> &
  Pick<
    DeliveryAttempt,
    "startedAt" | "status" | "error" | "requestHeaders" | "requestBody" | "responseHeaders" | "responseBody"
  >;

/** Longer addresses are cut by chats and mail programs. */
const responseCharsMax = 2_000;

/** Browsers open longer ones, but little else does. */
const linkCharsMax = 60_000;

/**
 * The fragment of the address.
 * @throws Error when the attempt is too long for one
 */
export async function hashOfAttempt(delivery: DeliveryDetail, attempt: DeliveryAttempt): Promise<string> {
  const { event, url } = delivery;
  const { startedAt, status, error, requestHeaders, requestBody, responseHeaders } = attempt;
  const responseBody = attempt.responseBody.slice(0, responseCharsMax);
  const request = { requestHeaders, requestBody };
  const shared = { event, url, startedAt, status, error, ...request, responseHeaders, responseBody };
  const hash = hashOf("signatures", null, { shared: await pack(shared) });
  if (hash.length > linkCharsMax)
    throw new Error("The body is too long for a link: export the state in Setup");
  return hash;
}

export async function pack(shared: SharedAttempt): Promise<string> {
  const bytes = await pipe(
    new TextEncoder().encode(JSON.stringify(shared)),
    new CompressionStream("deflate-raw"),
  );
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** `null` for a link that was cut or changed. */
export async function unpack(text: string): Promise<SharedAttempt | null> {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const json = await pipe(bytes, new DecompressionStream("deflate-raw"));
    return checked(JSON.parse(new TextDecoder().decode(json)));
  } catch {
    return null;
  }
}

/** The content of a link is foreign data. */
function checked(value: Record<string, unknown>): SharedAttempt | null {
  const texts = [value["event"], value["startedAt"], value["requestBody"], value["responseBody"]];
  const headers = [value["requestHeaders"], value["responseHeaders"]];
  const isValid =
    texts.every((text) => typeof text === "string") &&
    !Number.isNaN(Date.parse(String(value["startedAt"]))) &&
    headers.every((each) => typeof each === "object" && each !== null) &&
    headers.every((each) => Object.values(each as object).every((text) => typeof text === "string")) &&
    [value["url"], value["error"]].every((text) => text === null || typeof text === "string") &&
    (value["status"] === null || typeof value["status"] === "number");
  return isValid ? (value as unknown as SharedAttempt) : null;
}

async function pipe(
  bytes: Uint8Array<ArrayBuffer>,
  through: CompressionStream | DecompressionStream,
): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(through);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
