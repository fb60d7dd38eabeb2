// A delivery as a message. The body is that of the request; everything else that the inbox stores is in the properties.
//
// RELEASES. The type ends with the version of the format. A release reads a version before a later release publishes it,
// so that a queue may be filled by the next release and read by this one, and a release can be rolled back. A header that
// is added is no new version: consumers leave alone what they do not know.

import { ReceiverError, type VerifiedWebhook } from "@workspace-tasks/receiver-kit";
import type { AmqpMessage, AmqpPublishOptions } from "./amqp.ts";

const typePrefix = "workspace-tasks.delivery.";
const version = 1;
/** The first release that reads this version. */
const oldestRelease = "0.1.0";

const header = {
  secretIndex: "secret-index",
  receivedAtMs: "received-at-ms",
  traceparent: "traceparent",
  tenant: "tenant",
  tenantWorkspaceId: "tenant-workspace-id",
  oldestRelease: "oldest-release",
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
    type: `${typePrefix}${version}`,
    timestamp,
    contentType: "application/json",
    headers: {
      [header.oldestRelease]: oldestRelease,
      [header.secretIndex]: secretIndex,
      // A clock may have fractions of a millisecond.
      [header.receivedAtMs]: Math.floor(receivedAtMs),
      ...(traceparent !== undefined && { [header.traceparent]: traceparent }),
      ...(tenant && { [header.tenant]: tenant.id, [header.tenantWorkspaceId]: tenant.workspaceId }),
    },
  };
}

/**
 * Undefined when the message is not a delivery.
 *
 * @throws {ReceiverError} `RELEASE_TOO_OLD`
 */
export function decodeDelivery({ content, properties }: AmqpMessage): QueuedDelivery | undefined {
  const { messageId: id, appId: source, type, timestamp, headers = {} } = properties;
  const secretIndex = headers[header.secretIndex];
  const receivedAtMs = headers[header.receivedAtMs];
  if (!isKnownType(type, headers) || !isText(id) || !isText(source) || !isCount(timestamp)) return undefined;
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

function isKnownType(type: unknown, headers: NonNullable<AmqpMessage["properties"]["headers"]>): boolean {
  if (!isText(type) || !type.startsWith(typePrefix)) return false;
  const found = Number(type.slice(typePrefix.length));
  if (!(Number.isSafeInteger(found) && found > version)) return found === version;
  const oldest = headers[header.oldestRelease];
  throw new ReceiverError(
    "RELEASE_TOO_OLD",
    `rabbitmq: a newer release published a delivery in version ${found} of the format, this one reads version ${version}: ` +
      `run ${isText(oldest) ? `release ${oldest} or newer` : "that release"} in this process`,
  );
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** The id of the task that the body names, else the `webhook-id`: what decides the shard and the queue. */
export function routingKeyOf(id: string, body: unknown): string {
  const { taskId } = (body ?? {}) as { readonly taskId?: unknown };
  return isText(taskId) ? taskId : id;
}
