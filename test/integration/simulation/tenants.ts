// The other tenant has a signing secret and a path of its own. It signs events of the service's workspace, and events of
// its own with the ids and tasks of the service's deliveries.

import type { Secrets, SecretsRequest, Tenant } from "@workspace-tasks/receiver-kit";
import { signBytes } from "../../support/signed-delivery.ts";
import type { SimulationRun } from "./actions.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { SharedState } from "./simulated-receiver.ts";
import { mainTenant, type SimulationWorld } from "./world.ts";

const otherTenant: Tenant = {
  id: "other",
  workspaceId: "workspace-of-other",
  secrets: [`whsec_${Buffer.alloc(32, 9).toString("base64")}`],
};
const otherPath = "/webhooks/other";

interface HandledEvent {
  readonly tenant: string | undefined;
  readonly id: string;
  readonly workspaceId: unknown;
}

/** Of an event that a handler received for a tenant other than the service's. */
export function checkOtherTenant(
  { check, trace }: SimulationWorld,
  { tenant, id, workspaceId }: HandledEvent,
): void {
  // An event may name no workspace: then the secret alone tells whose it is.
  const isOwn = workspaceId === undefined || workspaceId === otherTenant.workspaceId;
  const holds = tenant === otherTenant.id && isOwn;
  check("T1", holds, () => {
    return `${trace.nameOf("delivery", id)} of ${String(workspaceId)} was handled for tenant ${tenant}`;
  });
}

/** The `secrets` option of a receiver; with `tenants`, it depends on the path. */
export function resolveSecrets(
  world: SimulationWorld,
  shared: Pick<SharedState, "secrets" | "workspaceId">,
  process: SimulatedProcess,
): Secrets {
  const random = world.random.stream(`secrets/${process.name}`);
  const unlessUnavailable = <Result>(result: Result): Result | Promise<Result> => {
    if (!world.faultOccurs("secretsUnavailable", random)) return result;
    if (random.happens(0.3)) return new Promise<never>(() => {});
    throw new Error("the secret store is unavailable");
  };
  if (!world.settings.tenants) return () => unlessUnavailable(shared.secrets());
  const main = (): Tenant | undefined => {
    const secrets = shared.secrets();
    return { id: mainTenant, workspaceId: shared.workspaceId(), secrets };
  };
  return {
    byTenant: ({ path }: SecretsRequest) => unlessUnavailable(path === otherPath ? otherTenant : main()),
  };
}

/** Sometimes sends a delivery as the other tenant, modelled on one of the service. */
export function sendAsOtherTenant({ world, receivers }: SimulationRun): void {
  const random = world.random.stream(`other tenant/${world.clock.now()}`);
  const model = random.sample(receivers.network.captured);
  const target = random.sample(receivers.running());
  const isForeign = random.happens(0.5);
  if (!world.settings.tenants || !random.happens(0.5) || !model || !target) return;
  const body = isForeign ? model.body : ownEvent(model.body, world.clock.now());
  if (!body) return;
  world.meet("otherTenant");
  const id = model.headers["webhook-id"] ?? "";
  const timestamp = String(Math.floor(world.clock.now() / 1_000));
  const signature = signBytes(otherTenant.secrets[0] ?? "", `${id}.${timestamp}.`, body);
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  const url = `https://receiver.example${otherPath}`;
  const sent = target.receiver.fetch(
    new Request(url, { method: "POST", headers, body: new Uint8Array(body) }),
  );
  const name = world.trace.nameOf("delivery", id);
  void Promise.race([sent, target.process.death]).then(
    ({ status }) => {
      world.trace.log(`the other tenant gets ${status} for ${isForeign ? "the body" : "the id"} of ${name}`);
      // A body that is no JSON, or no UTF-8, names no workspace, and is quarantined for the tenant that signed it.
      const named = isForeign && namesWorkspace(body);
      world.check("T1", !named || status !== 200, () => `${name} was accepted from another tenant`);
    },
    () => {},
  );
}

function ownEvent(body: Buffer, nowMs: number): Buffer | undefined {
  try {
    const event = JSON.parse(body.toString("utf8")) as Record<string, unknown>;
    const own = { ...event, workspaceId: otherTenant.workspaceId, occurredAt: new Date(nowMs).toISOString() };
    return Buffer.from(JSON.stringify(own));
  } catch {
    return undefined; // changed on the way
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function namesWorkspace(body: Buffer): boolean {
  try {
    const event = JSON.parse(utf8.decode(body)) as { workspaceId?: unknown } | null;
    return typeof event?.workspaceId === "string";
  } catch {
    return false;
  }
}
