import { MockServerError } from "../errors.ts";
import type { Router } from "../state/router.ts";
import type { OverrideResponse } from "../world/override-store.ts";
import { knownOperation } from "./check-operation.ts";
import { ShapeError, shapeData } from "./shape-data.ts";

/**
 * Checks what is known before a request: that the operation exists, and that its data has no value that the schema does
 * not allow. Fields that a request selects and the data lacks are found later.
 * @throws MockServerError BODY_INVALID
 */
export function checkOverride(
  operation: string,
  response: OverrideResponse,
  {
    router,
    invalid = false,
  }: { readonly router?: Router | undefined; readonly invalid?: boolean | undefined },
): void {
  const { schema, field } = knownOperation(operation, router);
  if (invalid || response.invalid || response.data === undefined || response.data === null) return;
  try {
    const place = { value: response.data, nodes: [], path: "data" };
    shapeData({ schema, select: null, by: "name" }, field.type, place);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw invalidBody(`${error.message}; invalid: true sends it all the same`);
  }
}

const invalidBody = (message: string) => new MockServerError("BODY_INVALID", message);
