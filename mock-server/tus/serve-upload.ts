import { type PlainResponse, serveWithFaults } from "../faults/serve-with-faults.ts";
import { waitOnClock } from "../faults/wait-on-clock.ts";
import { toFetchResponse } from "../faults/write-response.ts";
import { authorise, type Caller, endToken } from "../rules/identity/caller.ts";
import { UploadError } from "../rules/uploads/upload-error.ts";
import type { World } from "../world/world.ts";
import { handleUpload } from "./upload-handler.ts";

/**
 * Serves one upload request to the member whose token it carries, under the faults that befall it. In a
 * fault plan its operation is called `upload.post`, `upload.patch`, `upload.head` or `upload.delete`.
 */
export async function serveUpload(world: World, request: Request, path: string): Promise<Response> {
  const authorization = request.headers.get("authorization");
  const caller = authorise(world, authorization);
  const run = () =>
    handleUpload(request, { world, path, authorise: (header, writes) => admit(world, header, writes) });
  const faults = world.faults.drawApi({
    keyId: caller.kind === "anonymous" ? null : caller.keyId,
    router: "base",
    operations: [`upload.${request.method.toLowerCase()}`],
  });
  if (faults.length === 0) return run();
  return toFetchResponse(
    await serveWithFaults(faults, faultEffects(world, caller), async () => toPlainResponse(await run())),
  );
}

function admit(
  world: World,
  authorization: string | null,
  writes: boolean,
): { readonly workspaceId: string } {
  const caller = authorise(world, authorization);
  if (caller.kind !== "member") throw new UploadError(401, "Unauthorized");
  if (writes && caller.access === "read_only") throw new UploadError(403, "Unauthorized");
  return { workspaceId: caller.workspace.id };
}

const faultEffects = (world: World, caller: Caller) => ({
  wait: (delayMs: number) => waitOnClock(world, delayMs),
  expireToken: () => endToken(world, caller),
  burnQuota(requests: number | null) {
    if (caller.kind !== "anonymous")
      world.limiter.burn(caller.keyId, world.clock.now(), requests ?? undefined);
  },
});

async function toPlainResponse(response: Response): Promise<PlainResponse> {
  const { status, headers } = response;
  return { status, headers: Object.fromEntries(headers), body: await response.text() };
}
