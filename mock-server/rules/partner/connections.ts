// A connection is `pending` from its start. Collecting it checks the stored credentials with the partner platform
// and makes it `active` or `failed`; it can be collected again. A `disconnected` one must be replaced.

import { isLoopbackHost } from "@workspace-tasks/kernel/host.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { isHttpUrl } from "../../checks/service-url.ts";
import type {
  MutationCollectProviderConnectionArgs,
  MutationStartProviderConnectionArgs,
} from "../../generated/resolvers.ts";
import type { ConnectionRecord } from "../../state/records.ts";
import type { World } from "../../world/world.ts";
import { worldCache } from "../../world/world-cache.ts";
import { isBlank } from "../blank.ts";
import { type Caller, reachable, requireWriter } from "../identity/caller.ts";
import { badInput, conflict } from "../service-error.ts";
import { createdNow, touch } from "../touch.ts";
import { reachWorkspace } from "../workspaces/workspaces.ts";

/** Not part of the interface. */
export function startConnection(
  world: World,
  caller: Caller,
  input: MutationStartProviderConnectionArgs,
): ConnectionRecord {
  const writer = requireWriter(caller);
  if (isBlank(input.providerKey)) throw badInput("Provider key must not be empty");
  checkInputs(input.inputs);
  const workspace = reachWorkspace(world, writer, input.workspaceId);
  const connection = addConnection(world, {
    workspaceId: workspace.id,
    providerKey: input.providerKey,
    status: "pending",
    displayName: input.providerKey,
    startInputs: input.inputs ?? null,
    settings: null,
  });
  emitStatus(world, connection);
  return connection;
}

type NewConnection = Omit<ConnectionRecord, "id" | "createdAtMs" | "updatedAtMs">;

/** Adds a connection without checking the caller. */
export function addConnection(world: World, input: NewConnection): ConnectionRecord {
  const connection = { id: world.newId("connection"), ...input, ...createdNow(world) };
  world.state.connections.set(connection.id, connection);
  return connection;
}

/**
 * Checks the credentials of the start step; the result sets the status. A platform that rejects them is no error:
 * the connection is returned as `failed`.
 * @see interface §3
 */
export async function collectConnection(
  world: World,
  caller: Caller,
  input: MutationCollectProviderConnectionArgs,
): Promise<ConnectionRecord> {
  const writer = requireWriter(caller);
  checkInputs(input.inputs);
  const connection = findConnection(world, writer, input.connectionId);
  return inOrder(world, connection.id, async () => {
    if (connection.status === "disconnected") throw conflict("Provider connection is disconnected");
    const accepted = await platformAccepts(world, connection);
    connection.status = accepted ? "active" : "failed";
    if (accepted && input.inputs != null) connection.settings = input.inputs;
    touch(world, connection);
    emitStatus(world, connection);
    return { ...connection };
  });
}

const lastChecks = worldCache(() => new Map<string, Promise<unknown>>());

/** Runs the checks of one connection one after the other: its state is the result of the last one that was asked for. */
function inOrder<Result>(world: World, connectionId: string, check: () => Promise<Result>): Promise<Result> {
  const last = lastChecks(world);
  const before = last.get(connectionId);
  const checking = before ? before.then(check, check) : check();
  const forget = () => last.get(connectionId) === checking && last.delete(connectionId);
  checking.then(forget, forget);
  last.set(connectionId, checking);
  world.track(checking);
  return checking;
}

export const findConnection = (world: World, caller: Caller, connectionId: string): ConnectionRecord =>
  reachable(world, caller, world.state.connections.get(connectionId), "Provider connection not found");

async function platformAccepts(world: World, connection: ConnectionRecord): Promise<boolean> {
  const { id, workspaceId, providerKey, startInputs } = connection;
  const { checkConnection } = world.transport;
  if (checkConnection) {
    const check = { connectionId: id, workspaceId, providerKey, inputs: startInputs };
    return (await checkConnection(check)) === true;
  }
  const apiKey = textOf(startInputs, "apiKey") ?? "";
  const baseUrl = textOf(startInputs, "baseUrl");
  if (baseUrl !== null && isHttpUrl(baseUrl) && isLoopbackHost(new URL(baseUrl).hostname)) {
    const { status } = await world.transport.read(baseUrl, { authorization: `Bearer ${apiKey}` });
    return status !== null && status >= 200 && status < 300;
  }
  return !apiKey.startsWith("invalid");
}

function textOf(inputs: unknown, name: string): string | null {
  const value = isPlainObject(inputs) ? inputs[name] : null;
  return typeof value === "string" ? value : null;
}

function checkInputs(inputs: unknown): void {
  if (inputs != null && !isPlainObject(inputs)) {
    throw badInput("Provider connection inputs must be an object");
  }
}

function emitStatus(world: World, { id, workspaceId, status }: ConnectionRecord): void {
  world.emit({ type: `connection.${status}`, connectionId: id, workspaceId });
}
