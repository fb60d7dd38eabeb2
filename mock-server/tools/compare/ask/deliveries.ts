// Deliveries as a receiver got them: in a file of the user, or in memory.

import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { secretForm, signatureOf } from "@workspace-tasks/mock-server/parts";
import * as z from "zod";

/** An attempt. */
export interface CapturedDelivery {
  readonly receivedAtMs: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** HTTP status of the response to it; `null` when it is not known. */
  readonly responded: number | null;
}

export interface Captured {
  readonly deliveries: readonly CapturedDelivery[];
  /** Secrets of the endpoint, the newest first. */
  readonly secrets: readonly string[];
}

/** What rules read of an attempt. */
export interface Delivery extends CapturedDelivery {
  readonly id: string;
  /** `seconds`, or another form. */
  readonly timestamp: string;
  /** Seconds between the signed time and the arrival. */
  readonly ageSeconds: number;
  /** Version of each signature, and which of the secrets it verifies with: 0 is the newest, `null` none. */
  readonly signatures: readonly { readonly version: string; readonly secret: number | null }[];
  /** Nothing when the body is not JSON. */
  readonly event: Readonly<Record<string, unknown>>;
}

export const readDeliveries = ({ deliveries, secrets }: Captured): readonly Delivery[] =>
  deliveries.map((delivery) => {
    const { headers, body, receivedAtMs } = delivery;
    const { "webhook-id": id = "", "webhook-timestamp": timestamp = "" } = headers;
    const event = jsonOrUndefined(body.toString("utf8"));
    const isSeconds = /^\d{10}$/.test(timestamp);
    // Whether the signed time is right is another rule's.
    const at = new Date(Number(timestamp) * 1_000);
    const tokens = (headers["webhook-signature"] ?? "").split(" ").filter(Boolean);
    return {
      ...delivery,
      id,
      timestamp: isSeconds ? "seconds" : timestamp === "" ? "none" : "another form",
      ageSeconds: isSeconds ? Math.round(receivedAtMs / 1_000 - Number(timestamp)) : 0,
      signatures: tokens.map((token) => {
        const verifies = (secret: string) =>
          secretForm.test(secret) && signatureOf(secret, { id, at, body }) === token;
        const secret = secrets.findIndex(verifies);
        return {
          version: /^v\d{1,2}[a-z]?(?=,)/.exec(token)?.[0] ?? "unknown",
          secret: secret < 0 ? null : secret,
        };
      }),
      event: isPlainObject(event) ? event : {},
    };
  });

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

/** An attempt may be written down twice. A retry has another time, and another signature. */
function withoutCopies(captured: readonly CapturedDelivery[]): readonly CapturedDelivery[] {
  const seen = new Set<string>();
  return captured.filter(({ headers, body }) => {
    const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature } = headers;
    const key = JSON.stringify([id, timestamp, signature, body.toString("base64")]);
    const isCopy = id !== undefined && seen.has(key);
    seen.add(key);
    return !isCopy;
  });
}
