import { createHmac } from "node:crypto";

export const secretBytes = Buffer.alloc(32, 7);
export const secret = `whsec_${secretBytes.toString("base64")}`;

/** A task event whose body has exactly `bytes` bytes: the rest is in a field that receivers do not know. */
export function sampleBody(bytes: number, index = 0): Buffer {
  const taskId = `00000000-0000-4000-8000-${String(index % 1_000).padStart(12, "0")}`;
  const event = {
    event: "task.completed",
    id: `10000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    version: "1",
    occurredAt: new Date(Date.now() - 60_000 + index).toISOString(),
    workspaceId: "20000000-0000-4000-8000-000000000001",
    clientId: "30000000-0000-4000-8000-000000000001",
    taskId,
    taskType: "TAX_PREP",
    status: "COMPLETED",
    errorMessage: null,
    customerError: null,
    taxPrepResult: null,
    notes: "",
  };
  const bare = Buffer.byteLength(JSON.stringify(event));
  return Buffer.from(JSON.stringify({ ...event, notes: text(Math.max(0, bytes - bare)) }));
}

const words = "prior year return reconciled against source documents; ";
const text = (length: number) => words.repeat(Math.ceil(length / words.length)).slice(0, length);

export type SignedDelivery = { readonly body: Buffer; readonly headers: Record<string, string> };

export function signDelivery(id: string, body: Buffer, nowMs = Date.now()): SignedDelivery {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signature = createHmac("sha256", secretBytes)
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest("base64");
  return {
    body,
    headers: {
      host: "127.0.0.1",
      connection: "keep-alive",
      "user-agent": "sender",
      "content-type": "application/json",
      "content-length": String(body.length),
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    },
  };
}
