import type { ConnectionRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { type Caller, reachesWorkspace, requireToken, requireWriter } from "../identity/caller.ts";
import { isLoopbackHost } from "../loopback.ts";
import { ServiceError } from "../service-error.ts";
import { isPlainObject, reachWorkspace } from "../workspaces/workspaces.ts";

// A connection is `pending` from its start. Collecting it asks the partner platform whether the stored
// credentials work and makes it `active` or `failed`; it may be collected again, which asks again.
// A `disconnected` one must be started anew.

export type StartConnectionInput = {
  readonly workspaceId: string;
  readonly providerKey: string;
  readonly inputs?: unknown;
};

/** Lies beyond the interface. */
export function startConnection(world: World, caller: Caller, input: StartConnectionInput): ConnectionRecord {
  const workspace = reachWorkspace(world, requireWriter(caller), input.workspaceId);
  if (input.providerKey.trim() === "") {
    throw new ServiceError("BAD_USER_INPUT", "Provider key must not be empty");
  }
  checkInputs(input.inputs);
  const nowMs = world.clock.now();
  const connection: ConnectionRecord = {
    id: world.newId("connection"),
    workspaceId: workspace.id,
    providerKey: input.providerKey,
    status: "pending",
    displayName: input.providerKey,
    startInputs: input.inputs ?? null,
    settings: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  world.state.connections.set(connection.id, connection);
  announceStatus(world, connection);
  return connection;
}

export type CollectConnectionInput = { readonly connectionId: string; readonly inputs?: unknown };

/**
 * Tests the credentials of the start step; the result sets the status. A platform that refuses is no
 * error: the connection comes back `failed`.
 * @see interface §3
 */
export async function collectConnection(
  world: World,
  caller: Caller,
  input: CollectConnectionInput,
): Promise<ConnectionRecord> {
  const connection = findConnection(world, requireWriter(caller), input.connectionId);
  checkInputs(input.inputs);
  if (connection.status === "disconnected") {
    throw new ServiceError("CONFLICT", "Provider connection is disconnected");
  }
  const checking = platformAccepts(world, connection);
  world.track(checking);
  const accepted = await checking;
  connection.status = accepted ? "active" : "failed";
  if (input.inputs != null) connection.settings = input.inputs;
  connection.updatedAtMs = Math.max(world.clock.now(), connection.updatedAtMs + 1);
  announceStatus(world, connection);
  return connection;
}

/** A connection of the caller's workspaces; any other is as if it did not exist (P8). */
export function findConnection(world: World, caller: Caller, connectionId: string): ConnectionRecord {
  const connection = world.state.connections.get(connectionId);
  const workspace = connection && world.state.workspaces.get(connection.workspaceId);
  if (!connection || !workspace || !reachesWorkspace(requireToken(caller), workspace)) {
    throw new ServiceError("NOT_FOUND", "Provider connection not found");
  }
  return connection;
}

async function platformAccepts(world: World, connection: ConnectionRecord): Promise<boolean> {
  const { id, workspaceId, providerKey, startInputs } = connection;
  const { checkConnection } = world.transport;
  if (checkConnection) {
    return checkConnection({ connectionId: id, workspaceId, providerKey, inputs: startInputs });
  }
  const apiKey = textOf(startInputs, "apiKey") ?? "";
  const baseUrl = textOf(startInputs, "baseUrl");
  if (baseUrl !== null && URL.canParse(baseUrl) && isLoopbackHost(new URL(baseUrl).hostname)) {
    const answer = await world.transport.read(baseUrl, { authorization: `Bearer ${apiKey}` });
    return answer.status !== null && answer.status >= 200 && answer.status < 300;
  }
  return !apiKey.startsWith("invalid");
}

function textOf(inputs: unknown, name: string): string | null {
  const value = isPlainObject(inputs) ? inputs[name] : null;
  return typeof value === "string" ? value : null;
}

function checkInputs(inputs: unknown): void {
  if (inputs != null && !isPlainObject(inputs)) {
    throw new ServiceError("BAD_USER_INPUT", "Provider connection inputs must be an object");
  }
}

function announceStatus(world: World, { id, workspaceId, status }: ConnectionRecord): void {
  world.emit({ type: `connection.${status}`, connectionId: id, workspaceId });
}
