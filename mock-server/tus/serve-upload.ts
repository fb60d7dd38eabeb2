import { faultEffects } from "../faults/fault-effects.ts";
import { type PlainResponse, serveWithFaults } from "../faults/serve-with-faults.ts";
import { toFetchResponse } from "../faults/write-response.ts";
import { authorise, keyIdOf } from "../rules/identity/caller.ts";
import { UploadError } from "../rules/uploads/upload-error.ts";
import type { World } from "../world/world.ts";
import { handleUpload } from "./upload-handler.ts";

/**
 * Serves one upload request with the faults injected into it. In a fault plan its operation is `upload.post`,
 * `upload.patch`, `upload.head` or `upload.delete`.
 */
export async function serveUpload(world: World, request: Request, path: string): Promise<Response> {
  const caller = authorise(world, request.headers.get("authorization"));
  const run = () =>
    handleUpload(request, { world, path, authorise: (header, writes) => workspaceOf(world, header, writes) });
  const faults = world.faults.drawApi({
    keyId: keyIdOf(caller),
    router: "base",
    operations: [`upload.${request.method.toLowerCase()}`],
  });
  if (faults.length === 0) return run();
  const effects = faultEffects(world, () => caller);
  return toFetchResponse(await serveWithFaults(faults, effects, async () => toPlainResponse(await run())));
}

function workspaceOf(
  world: World,
  authorization: string | null,
  writes: boolean,
): { readonly workspaceId: string } {
  const caller = authorise(world, authorization);
  if (caller.kind !== "member") throw new UploadError(401, "Unauthorized");
  if (writes && caller.access === "read_only") throw new UploadError(403, "Unauthorized");
  return { workspaceId: caller.workspace.id };
}

async function toPlainResponse(response: Response): Promise<PlainResponse> {
  const { status, headers } = response;
  return { status, headers: Object.fromEntries(headers), body: await response.text() };
}
