import { MockServerError } from "../errors.ts";
import type { OverrideOptions } from "../state/override.ts";
import type { OverrideResponse } from "../world/override-store.ts";
import type { World } from "../world/world.ts";
import { describeUnknownKey, describeUnknownWorkspace } from "./check-caller.ts";
import { checkData, DataError } from "./check-data.ts";
import { knownOperation } from "./check-operation.ts";

/**
 * Checks what is known before a request: that the operation, the key and the workspace exist, and that the data has no
 * value that the schema does not allow. Fields that a request selects and the data lacks are found later.
 * @throws MockServerError BODY_INVALID
 */
export function checkOverride(
  world: World,
  operation: string,
  response: OverrideResponse,
  { router, keyId, workspaceId, invalid = false }: OverrideOptions,
): void {
  const { schema, field } = knownOperation(operation, router);
  const wrongKey = keyId === undefined ? undefined : describeUnknownKey(world, keyId);
  if (wrongKey !== undefined) throw invalidBody(`keyId: ${wrongKey}`);
  const wrongWorkspace = workspaceId === undefined ? undefined : describeUnknownWorkspace(world, workspaceId);
  if (wrongWorkspace !== undefined) throw invalidBody(`workspaceId: ${wrongWorkspace}`);
  if (invalid || response.data === undefined || response.data === null) return;
  try {
    checkData(schema, field.type, response.data, "data");
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    throw invalidBody(`${error.message}; invalid: true sends it all the same`);
  }
}

const invalidBody = (message: string) => new MockServerError("BODY_INVALID", message);
