import { faultEffects } from "../faults/fault-effects.ts";
import { toFetchResponse } from "../faults/fetch-response.ts";
import { type PlainResponse, serveWithFaults } from "../faults/serve-with-faults.ts";
import { authorise, keyIdOf } from "../rules/identity/caller.ts";
import type { Hold } from "../time/work-in-flight.ts";
import type { World } from "../world/world.ts";
import { handleUpload } from "./upload-handler.ts";

/**
 * Serves one upload request with the faults injected into it. In a fault plan its operation is `upload.post`,
 * `upload.patch`, `upload.head` or `upload.delete`.
 */
export async function serveUpload(
  world: World,
  request: Request,
  { path, hold }: { readonly path: string; readonly hold: Pick<Hold, "pause" | "resume"> | null },
): Promise<Response> {
  const caller = authorise(world, request.headers.get("authorization"));
  const run = () => handleUpload(request, world, path);
  const faults = world.faults.drawApi({
    keyId: keyIdOf(caller),
    router: "base",
    operations: [`upload.${request.method.toLowerCase()}`],
    content: new URL(request.url).pathname.slice(path.length),
    isCounted: false,
  });
  if (faults.length === 0) return run();
  const effects = faultEffects(world, () => caller, hold);
  const response = await serveWithFaults(faults, effects, async () => toPlainResponse(await run()));
  if (response.abort?.kind === "stall") hold?.pause();
  return toFetchResponse(response);
}

async function toPlainResponse(response: Response): Promise<PlainResponse> {
  const { status, headers } = response;
  return { status, headers: Object.fromEntries(headers), body: await response.text() };
}
