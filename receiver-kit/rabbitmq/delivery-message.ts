// A delivery as a message. The body is that of the request; everything else that the inbox stores is in the properties.

import type { VerifiedWebhook } from "../signature/verifier.ts";
import type { AmqpMessage, AmqpPublishOptions } from "./amqp.ts";

/** A consumer parks what has another type: it was written by a later version, or by something else. */
const messageType = "workspace-tasks.delivery.1";

const header = {
  secretIndex: "secret-index",
  receivedAtMs: "received-at-ms",
  traceparent: "traceparent",
  tenant: "tenant",
  tenantWorkspaceId: "tenant-workspace-id",
} as const;

export interface QueuedDelivery {
  readonly webhook: VerifiedWebhook;
  readonly source: string;
  readonly traceparent: string | undefined;
  readonly receivedAtMs: number;
}

export function encodeDelivery(
  { webhook, source, traceparent, receivedAtMs }: QueuedDelivery,
  correlationId: string,
): AmqpPublishOptions {
  const { id, timestamp, secretIndex, tenant } = webhook;
  return {
    persistent: true,
    mandatory: true,
    messageId: id,
    correlationId,
    appId: source,
    type: messageType,
    timestamp,
    contentType: "application/json",
    headers: {
      [header.secretIndex]: secretIndex,
      // A clock may have fractions of a millisecond.
      [header.receivedAtMs]: Math.floor(receivedAtMs),
      ...(traceparent !== undefined && { [header.traceparent]: traceparent }),
      ...(tenant && { [header.tenant]: tenant.id, [header.tenantWorkspaceId]: tenant.workspaceId }),
    },
  };
}

/** Undefined when the message is not a delivery. */
export function decodeDelivery({ content, properties }: AmqpMessage): QueuedDelivery | undefined {
  const { messageId: id, appId: source, type, timestamp, headers = {} } = properties;
  const secretIndex = headers[header.secretIndex];
  const receivedAtMs = headers[header.receivedAtMs];
  if (type !== messageType || !isText(id) || !isText(source) || !isCount(timestamp)) return undefined;
  if (!isCount(secretIndex) || !isCount(receivedAtMs)) return undefined;
  const traceparent = headers[header.traceparent];
  const tenant = headers[header.tenant];
  const workspaceId = headers[header.tenantWorkspaceId];
  const isTenant = isText(tenant) && isText(workspaceId);
  if (tenant !== undefined && !isTenant) return undefined;
  return {
    webhook: {
      ...{ id, timestamp, secretIndex, body: content },
      ...(isTenant && { tenant: { id: tenant, workspaceId } }),
    },
    source,
    traceparent: isText(traceparent) ? traceparent : undefined,
    receivedAtMs,
  };
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** The id of the task that the body names, else the `webhook-id`: what decides the shard and the queue. */
export function routingKeyOf({ id, body }: Pick<VerifiedWebhook, "id" | "body">): string {
  try {
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
    const { taskId } = JSON.parse(text) as { taskId?: unknown };
    return isText(taskId) ? taskId : id;
  } catch {
    // Not JSON: the inbox will quarantine it.
    return id;
  }
}
