import { parseEvent } from "@workspace-tasks/events";
import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver } from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import { postgresInbox } from "@workspace-tasks/receiver-kit/postgres";
import { sqliteInbox } from "@workspace-tasks/receiver-kit/sqlite";
import { openTelemetry } from "@workspace-tasks/receiver-kit/telemetry";
import type { TypedDocument } from "@workspace-tasks/sdk";
import { createClient } from "@workspace-tasks/sdk";
import { auditReceiver } from "workspace-tasks/check-receiver";

export const used = [createMockServer, createReceiver, auditReceiver, webhookMiddleware, postgresInbox];
export const alsoUsed = [sqliteInbox, openTelemetry, parseEvent];
export async function typed(document: TypedDocument<{ a: number }, { id: string }>): Promise<number> {
  const client = createClient({ baseUrl: "" });
  // @ts-expect-error the id is missing
  await client.request(document);
  // @ts-expect-error there is no variable of this name
  await client.request(document, { id: "x", other: 1 });
  const endpoint = await client.webhooks.endpoints.update("x", { enabled: true });
  return endpoint.url.length + (await client.request(document, { id: "x" })).a;
}
