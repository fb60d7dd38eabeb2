import { inSeries } from "@workspace-tasks/kernel/deferred.ts";
import type { CallScope } from "../call/call-scope.ts";
import { isWorkspaceTasksError } from "../errors.ts";
import { workIdOf } from "../operations/tasks.ts";
import type { CallOptions } from "../options.ts";
import type { ImportParts } from "./import-input.ts";
import { derivedFrom, type WorkMode } from "./import-state.ts";
import { kindOfFailure, type Settled } from "./settle.ts";

/** A `TAX_PREP` task of a client. Its ids are missing when no import has started it. */
export interface FoundTask {
  readonly jobId: string | undefined;
  readonly workId: string | undefined;
  readonly mode: WorkMode;
}

export type FoundTasks = ReadonlyMap<string, readonly FoundTask[]>;

type SendCall = <Value>(send: (call: CallOptions) => Promise<Value>) => Promise<Settled<Value>>;

/**
 * Asks the service which clients have a `TAX_PREP` task, under their own or a derived external id. The list of clients is
 * read once, 100 at a time; after that, its beginning, where new clients are.
 */
export function createLookUp({ me, taxClients, tasks }: ImportParts, scope: CallScope, send: SendCall) {
  /** Ids of the workspace's clients by external id, and external ids by that without what may make it a derived one. */
  const ids = new Map<string, string>();
  const derived = new Map<string, string[]>();
  let isRead = false;
  let workspace: Promise<string | undefined> | undefined;
  const series = inSeries();

  async function ownWorkspace(call: CallOptions): Promise<string | undefined> {
    const user = await me(call);
    return user.__typename === "WorkspaceUser" ? user.workspace.id : undefined;
  }

  async function readClients(call: CallOptions): Promise<void> {
    const read: (readonly [externalId: string, id: string])[] = [];
    for await (const { externalId, id } of taxClients.list({ limit: 100 }, call)) {
      if (isRead && externalId && ids.get(externalId) === id) break;
      if (externalId) read.push([externalId, id]);
    }
    for (const [externalId, id] of read) {
      ids.set(externalId, id);
      const own = /^(.+)~[^~]{1,8}$/s.exec(externalId)?.[1];
      if (own !== undefined) derived.set(own, [...(derived.get(own) ?? []), externalId]);
    }
    isRead = true;
  }

  async function look(externalIds: readonly string[], call: CallOptions): Promise<FoundTasks> {
    /** By id of the service's client: the client of the input, and the external id that it has there. */
    const wanted = new Map<string, readonly [externalId: string, used: string]>();
    for (const externalId of externalIds)
      for (const used of [externalId, ...(derived.get(externalId) ?? [])]) {
        const id = ids.get(used);
        if (id !== undefined) wanted.set(id, [externalId, used]);
      }
    const found = new Map<string, FoundTask[]>();
    const clientIds = [...wanted.keys()];
    for (let start = 0; start < clientIds.length; start += 100) {
      const filters = { types: ["TAX_PREP"], clientIds: clientIds.slice(start, start + 100), limit: 100 };
      for await (const task of tasks.list(filters, call)) {
        const [externalId, used] = wanted.get(task.client?.id ?? "") ?? [];
        if (externalId === undefined || used === undefined) continue;
        const jobId = task.attributes.find(({ name }) => name === "connectionJobId")?.value;
        const mode = used === externalId ? "new" : "derived";
        // One that only looks like a derived one is another client's.
        if (mode === "derived" && derivedFrom(used, jobId ?? "") !== externalId) continue;
        found.set(externalId, [...(found.get(externalId) ?? []), { jobId, workId: workIdOf(task), mode }]);
      }
    }
    return found;
  }

  /** `undefined`: the `apiKey` is missing, is of another workspace, or may not read these lists. */
  async function ask<Value>(question: (call: CallOptions) => Promise<Value>): Promise<Value | undefined> {
    const orNothing = (error: unknown) => {
      const isOfKey = isWorkspaceTasksError(error) && kindOfFailure(error) === "import";
      if (isOfKey && !scope.failure) return undefined;
      throw error;
    };
    const settled = await send((call) => question(call).catch(orNothing));
    return settled.ok ? settled.value : undefined;
  }

  return {
    /** `undefined`: the service cannot be asked about this workspace. */
    find: (externalIds: readonly string[], workspaceId: string): Promise<FoundTasks | undefined> =>
      series(async () => {
        workspace ??= ask(ownWorkspace);
        if ((await workspace) !== workspaceId) return undefined;
        return ask(async (call) => {
          await readClients(call);
          return look(externalIds, call);
        });
      }),
  };
}
