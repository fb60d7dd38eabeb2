// A delivery as a message. The body is that of the request; everything else that the inbox stores is in the properties.
//
// RELEASES. The type ends with the version of the format. A release reads a version before a later release publishes it,
// so that a queue may be filled by the next release and read by this one, and a release can be rolled back. A header that
// is added is no new version: consumers leave alone what they do not know.

import { ReceiverError, type VerifiedWebhook } from "@workspace-tasks/receiver-kit";
import type { Message, Options } from "amqplib";

const typePrefix = "workspace-tasks.delivery.";
const version = 1;

export interface QueuedDelivery {
  readonly webhook: VerifiedWebhook;
  readonly source: string;
  readonly traceparent: string | undefined;
}

export function encodeDelivery({ webhook, source, traceparent }: QueuedDelivery): Options.Publish {
  const { id, timestamp, secretIndex, tenant } = webhook;
  return {
    persistent: true,
    mandatory: true,
    messageId: id,
    appId: source,
    type: typePrefix + version,
    timestamp,
    contentType: "application/json",
    // Set when it is sent; one shape of object is faster than two.
    correlationId: "",
    // What is undefined is not sent.
    headers: {
      "secret-index": secretIndex,
      traceparent,
      tenant: tenant?.id,
      "tenant-workspace-id": tenant?.workspaceId,
    },
  };
}

type Received = Pick<Message, "content"> & {
  readonly properties: Partial<Record<keyof Message["properties"], unknown>>;
};

/**
 * Undefined when the message is not a delivery.
 *
 * @throws {ReceiverError} `RELEASE_TOO_OLD`
 */
export function decodeDelivery({ content: body, properties }: Received): QueuedDelivery | undefined {
  const { messageId: id, appId: source, type, timestamp } = properties;
  const headers = (properties.headers ?? {}) as Readonly<Record<string, unknown>>;
  const { "secret-index": secretIndex, "tenant-workspace-id": workspaceId, tenant } = headers;
  if (!isKnownType(type) || !isText(id) || !isText(source)) return undefined;
  if (!isCount(timestamp) || !isCount(secretIndex)) return undefined;
  const traceparent = isText(headers["traceparent"]) ? headers["traceparent"] : undefined;
  const webhook = { id, timestamp, secretIndex, body };
  if (tenant === undefined) return { webhook, source, traceparent };
  if (!isText(tenant) || !isText(workspaceId)) return undefined;
  return { webhook: { ...webhook, tenant: { id: tenant, workspaceId } }, source, traceparent };
}

function isKnownType(type: unknown): boolean {
  if (!isText(type) || !type.startsWith(typePrefix)) return false;
  const found = Number(type.slice(typePrefix.length));
  if (!(Number.isSafeInteger(found) && found > version)) return found === version;
  throw new ReceiverError(
    "RELEASE_TOO_OLD",
    `rabbitmq: a newer release published a delivery in version ${found} of the format, this one reads version ${version}: ` +
      "run the release that published it",
  );
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** The id of the task that the body names, else the `webhook-id`: what decides the shard and the queue. */
export function taskOf(id: string, body: unknown): string {
  const { taskId } = (body ?? {}) as { readonly taskId?: unknown };
  return isText(taskId) ? taskId : id;
}

/** The properties of a message for another queue, which counts its deliveries from 0, with these headers besides its own. */
export function movedMessage(
  { properties }: Message,
  added: Readonly<Record<string, unknown>>,
): Options.Publish {
  const { headers, messageId, appId, type, timestamp, contentType, contentEncoding } = properties;
  return {
    messageId,
    appId,
    type,
    timestamp,
    contentType,
    contentEncoding,
    persistent: true,
    mandatory: true,
    headers: { ...headers, "x-delivery-count": undefined, ...added },
  };
}
