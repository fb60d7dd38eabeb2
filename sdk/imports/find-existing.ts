import { isWorkspaceTasksError } from "../errors.ts";
import type { CallOptions } from "../options.ts";
import type { ImportRun } from "./import-run.ts";
import { kindOfFailure } from "./outcome-policy.ts";

/**
 * Which of the external ids the workspace has clients with. `undefined` when the client's `apiKey` cannot tell: there is
 * none, it is of another workspace, or it may not list clients.
 */
export async function findExisting(
  run: ImportRun,
  externalIds: readonly string[],
  workspaceId: string,
): Promise<ReadonlySet<string> | undefined> {
  const { me, taxClients } = run.parts;
  const look = async (call: CallOptions) => {
    const user = await me(call);
    if (user.__typename !== "WorkspaceUser" || user.workspace.id !== workspaceId) return undefined;
    const [wanted, existing] = [new Set(externalIds), new Set<string>()];
    for await (const { externalId } of taxClients.list({ limit: 100 }, call))
      if (externalId && wanted.has(externalId)) existing.add(externalId);
    return existing;
  };
  const orNothing = (error: unknown) => {
    const isOfKey = isWorkspaceTasksError(error) && kindOfFailure(error) === "import";
    if (isOfKey && !run.scope.failure) return undefined;
    throw error;
  };
  const settled = await run.call((call) => look(call).catch(orNothing));
  return settled.ok ? settled.value : undefined;
}
