import { signBytes } from "../support/signed-delivery.ts";

export const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

export interface SignedDelivery {
  readonly body: Buffer;
  readonly headers: Record<string, string>;
}

/**
 * A task event whose body has exactly `bytes` bytes: the rest is in a field that receivers do not know.
 *
 * @param tasks how many tasks the events of increasing `index` belong to
 */
export function sampleBody(bytes: number, index = 0, tasks = 1_000): Buffer {
  const event = {
    event: "task.completed",
    id: `10000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    version: "1",
    // Before now for the indexes of the largest backlog: a receiver quarantines events of the future.
    occurredAt: new Date(Date.now() - 3_600_000 + index).toISOString(),
    workspaceId: "20000000-0000-4000-8000-000000000001",
    clientId: "30000000-0000-4000-8000-000000000001",
    taskId: `00000000-0000-4000-8000-${String(index % tasks).padStart(12, "0")}`,
    taskType: "TAX_PREP",
    status: "COMPLETED",
    errorMessage: null,
    customerError: null,
    taxPrepResult: null,
    notes: "",
  };
  const missing = Math.max(0, bytes - Buffer.byteLength(JSON.stringify(event)));
  const notes = sentence.repeat(Math.ceil(missing / sentence.length)).slice(0, missing);
  return Buffer.from(JSON.stringify({ ...event, notes }));
}

const sentence = "prior year return reconciled against source documents; ";

export function signDelivery(id: string, body: Buffer): SignedDelivery {
  const timestamp = String(Math.floor(Date.now() / 1_000));
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
      "webhook-signature": signBytes(secret, `${id}.${timestamp}.`, body),
    },
  };
}
