import { textOfUtf8 } from "@workspace-tasks/kernel/bytes.ts";
import { nodeHashing } from "../../mock-server/node/platform.ts";
import type { DeliveryRequest, DeliveryResponse, Transport } from "../../mock-server/outbound.ts";
import { addClient } from "../../mock-server/rules/clients.ts";
import { addWorkspace } from "../../mock-server/rules/workspaces.ts";
import { defaultSettings, type SettingsChanges, withSettings } from "../../mock-server/settings/settings.ts";
import type { WebhookEndpointRecord } from "../../mock-server/state/records.ts";
import { createVirtualClock, type VirtualClock } from "../../mock-server/time/virtual-clock.ts";
import { createWorld, type World } from "../../mock-server/world/world.ts";

/** A world of the mock without a server: a workspace, a client, and a function that responds to deliveries. */
export interface TestWorld {
  readonly world: World;
  readonly clock: VirtualClock;
  readonly workspaceId: string;
  readonly clientId: string;
  /** Every delivery attempt that was sent, in order. */
  readonly sent: readonly SentAttempt[];
  /** Adds an endpoint as the API would; the URL tells receivers apart. */
  addEndpoint(changes?: Partial<WebhookEndpointRecord>): WebhookEndpointRecord;
}

export type SentAttempt = {
  readonly url: string;
  readonly deliveryId: string;
  readonly atMs: number;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  readonly event: any;
};

export type TestWorldOptions = {
  readonly seed?: number;
  readonly settings?: SettingsChanges;
  readonly clock?: VirtualClock;
  /** Default: 204 to everything. */
  readonly respond?: (attempt: SentAttempt) => DeliveryResponse | Promise<DeliveryResponse>;
  readonly read?: Transport["read"];
};

export const responded = (status: number, headers: Record<string, string> = {}): DeliveryResponse => ({
  status,
  headers,
  body: "",
});

export function createTestWorld(options: TestWorldOptions = {}): TestWorld {
  const clock = options.clock ?? createVirtualClock();
  const respond = options.respond ?? (() => responded(204));
  const sent: SentAttempt[] = [];
  const deliver = async ({ url, headers, body }: DeliveryRequest) => {
    const attempt = {
      url,
      headers,
      deliveryId: headers["webhook-id"] ?? "",
      atMs: clock.now(),
      event: JSON.parse(textOfUtf8(body)),
    };
    sent.push(attempt);
    return respond(attempt);
  };
  const world = createWorld({
    epoch: 0,
    hashing: nodeHashing,
    seed: options.seed ?? 1,
    clock,
    settings: options.settings ? withSettings(options.settings) : defaultSettings,
    transport: {
      deliver,
      read: options.read ?? (async () => ({ status: null, error: "connection failed" })),
      abort: () => undefined,
    },
  });
  const workspace = addWorkspace(world, { displayName: "Firm", partnerId: null });
  const client = addClient(world, workspace.id, {
    name: "Ada",
    externalId: "ada",
    returnType: "F1040",
    taxYear: 2025,
  });
  return {
    world,
    clock,
    workspaceId: workspace.id,
    clientId: client.id,
    sent,
    addEndpoint(changes = {}) {
      const endpoint: WebhookEndpointRecord = {
        id: world.newId("endpoint"),
        workspaceId: workspace.id,
        url: "http://127.0.0.1:9/hook",
        description: "",
        enabled: true,
        eventTypes: null,
        secrets: [{ secret: `whsec_${Buffer.alloc(32, 7).toString("base64")}`, expiresAtMs: null }],
        createdAtMs: clock.now(),
        updatedAtMs: clock.now(),
        ...changes,
      };
      world.state.endpoints.set(endpoint.id, endpoint);
      return endpoint;
    },
  };
}
