import { isWorkspaceTasksError } from "../errors.ts";
import type { CallOptions } from "../options.ts";
import { call, type ImportContext } from "./import-context.ts";
import { kindOfFailure } from "./outcome-policy.ts";

/**
 * Which of the external ids the workspace has clients with. `undefined` when the client's `apiKey` cannot tell: there is
 * none, it is of another workspace, or it may not list clients.
 */
export async function findExisting(
  context: ImportContext,
  externalIds: readonly string[],
  workspaceId: string,
): Promise<ReadonlySet<string> | undefined> {
  const { operations, scope } = context;
  const wanted = new Set(externalIds);
  const look = async (options: CallOptions) => {
    const me = await operations.me(options);
    if (me.__typename !== "WorkspaceUser" || me.workspace.id !== workspaceId) return undefined;
    const found = new Set<string>();
    for await (const { externalId } of operations.taxClients.list({ limit: 100 }, options)) {
      if (wanted.has(externalId)) found.add(externalId);
      if (found.size === wanted.size) break;
    }
    return found;
  };
  const orNothing = (error: unknown) => {
    const isOfImport = isWorkspaceTasksError(error) && kindOfFailure(error) === "import";
    if (isOfImport && !scope.failure) return undefined;
    throw error;
  };
  const settled = await call(context, (options) => look(options).catch(orNothing), { repeatsDoubt: true });
  return settled.ok ? settled.value : undefined;
}
