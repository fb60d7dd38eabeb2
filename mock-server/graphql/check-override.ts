import { didYouMean } from "../check-options.ts";
import { MockServerError } from "../errors.ts";
import type { Router } from "../state/router.ts";
import type { OverrideResponse } from "../world/override-store.ts";
import { routerSchema } from "./router-schema.ts";
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
  const served = (router ? [router] : (["base", "gateway"] as const)).map((each) => ({
    schema: routerSchema(each),
    ...rootFields(each),
  }));
  const found = served.find(({ fields }) => Object.hasOwn(fields, operation));
  const field = found?.fields[operation];
  if (!found || !field) {
    const known = served.flatMap(({ fields }) => Object.keys(fields));
    const where = router ? ` of the ${router} router` : "";
    throw invalidBody(`operation: unknown operation ${operation}${where}${didYouMean(operation, known)}`);
  }
  if (invalid || response.invalid || response.data === undefined || response.data === null) return;
  try {
    const place = { value: response.data, nodes: [], path: "data" };
    shapeData({ schema: found.schema, select: null, by: "name" }, field.type, place);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw invalidBody(`${error.message}; invalid: true sends it all the same`);
  }
}

function rootFields(router: Router) {
  const schema = routerSchema(router);
  return { fields: { ...schema.getQueryType()?.getFields(), ...schema.getMutationType()?.getFields() } };
}

const invalidBody = (message: string) => new MockServerError("BODY_INVALID", message);
