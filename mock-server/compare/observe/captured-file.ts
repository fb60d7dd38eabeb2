import { z } from "zod";
import type { CapturedDelivery } from "./observe-delivery.ts";

const lineSchema = z.object({
  receivedAt: z.union([z.number(), z.iso.datetime({ offset: true })]),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  /** Base64 of the exact bytes. */
  body: z.base64(),
  status: z.int().nullable().optional(),
});

/**
 * Reads captured deliveries: a JSON document per line with `receivedAt`, `headers`, `body` in base64 and, if it is known,
 * the `status` of the response.
 * @throws Error that says which line is wrong
 */
export function parseCaptured(text: string): readonly CapturedDelivery[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const captured = lines.map((line, index) => {
    const { receivedAt, headers, body, status } = parseLine(line, index + 1);
    const lowerCase = Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      [value].flat().join(", "),
    ]);
    return {
      receivedAtMs: typeof receivedAt === "number" ? receivedAt : Date.parse(receivedAt),
      headers: Object.fromEntries(lowerCase) as Readonly<Record<string, string>>,
      body: Buffer.from(body, "base64"),
      responded: status ?? null,
    };
  });
  return captured.toSorted((a, b) => a.receivedAtMs - b.receivedAtMs);
}

function parseLine(line: string, number: number): z.output<typeof lineSchema> {
  try {
    return lineSchema.parse(JSON.parse(line));
  } catch {
    throw new Error(`line ${number} is not { "receivedAt", "headers", "body": <base64> }`);
  }
}
