import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import * as z from "zod";
import type { CapturedDelivery } from "./observe-delivery.ts";

const deliverySchema = z.object({
  receivedAt: z.iso.datetime({ offset: true }),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  /** Base64 of the exact bytes. */
  body: z.base64(),
  status: z.int().nullable().optional(),
});

/**
 * Reads captured deliveries, a JSON document per line: `receivedAt`, `headers`, `body` in base64 and, if it is known, the
 * `status` of the response.
 * @throws Error that says which line is wrong
 */
export function parseCaptured(text: string): readonly CapturedDelivery[] {
  const captured = text
    .split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [parseLine(line, index)]));
  if (captured.length === 0) throw new Error("it has no delivery");
  return withoutCopies(captured.toSorted((a, b) => a.receivedAtMs - b.receivedAtMs));
}

function parseLine(line: string, index: number): CapturedDelivery {
  const { success, data } = deliverySchema.safeParse(jsonOrUndefined(line));
  if (!success) throw new Error(`line ${index + 1} is not { "receivedAt", "headers", "body": <base64> }`);
  const { receivedAt, headers, body, status = null } = data;
  const lowerCase = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    [value].flat().join(", "),
  ]);
  return {
    receivedAtMs: Date.parse(receivedAt),
    headers: Object.fromEntries(lowerCase) as Readonly<Record<string, string>>,
    body: Buffer.from(body, "base64"),
    responded: status,
  };
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
