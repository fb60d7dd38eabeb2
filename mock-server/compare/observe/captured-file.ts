import { z } from "zod";
import { isPlainObject } from "../../plain-object.ts";
import type { CapturedDelivery } from "./observe-delivery.ts";

const deliverySchema = z.object({
  receivedAt: z.union([z.number(), z.iso.datetime({ offset: true })]),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  /** Base64 of the exact bytes. */
  body: z.base64(),
  status: z.int().nullable().optional(),
});

type Line = z.output<typeof deliverySchema>;

/**
 * Reads captured deliveries: a JSON document per line, or one document that is a delivery or a list of them. A delivery has
 * `receivedAt`, `headers`, `body` in base64 and, if it is known, the `status` of the response.
 * @throws Error that says which one is wrong
 */
export function parseCaptured(text: string): readonly CapturedDelivery[] {
  const captured = readDocuments(text).map(({ receivedAt, headers, body, status }) => {
    const lowerCase = Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      [value].flat().join(", "),
    ]);
    return {
      receivedAtMs: typeof receivedAt === "number" ? toMs(receivedAt) : Date.parse(receivedAt),
      headers: Object.fromEntries(lowerCase) as Readonly<Record<string, string>>,
      body: Buffer.from(body, "base64"),
      responded: status ?? null,
    };
  });
  if (captured.length === 0) throw new Error("it has no delivery");
  return withoutCopies(captured.toSorted((a, b) => a.receivedAtMs - b.receivedAtMs));
}

/** Milliseconds since 1970, or seconds. */
const toMs = (time: number) => (time < 100_000_000_000 ? time * 1_000 : time);

function readDocuments(text: string): readonly Line[] {
  const whole = parseJson(text);
  if (Array.isArray(whole) || (isPlainObject(whole) && "body" in whole))
    return [whole].flat().map((item: unknown, index) => check(item, `delivery ${index + 1}`));
  return text
    .split("\n")
    .map((line, index) => ({ line, place: `line ${index + 1}` }))
    .filter(({ line }) => line.trim() !== "")
    .map(({ line, place }) => check(parseJson(line), place));
}

function check(value: unknown, place: string): Line {
  const { success, data } = deliverySchema.safeParse(value);
  if (success) return data;
  throw new Error(`${place} is not { "receivedAt", "headers", "body": <base64> }`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An attempt that was written down twice. A retry has another time, and another signature. */
function withoutCopies(captured: readonly CapturedDelivery[]): readonly CapturedDelivery[] {
  const seen = new Set<string>();
  return captured.filter(({ headers, body }) => {
    const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature } = headers;
    const key = JSON.stringify([id, timestamp, signature, body.toString("base64")]);
    return !seen.has(key) && id !== undefined ? Boolean(seen.add(key)) : id === undefined;
  });
}
