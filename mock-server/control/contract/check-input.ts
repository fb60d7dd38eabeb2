import * as z from "zod";
import { checkSchema } from "../../checks.ts";
import { MockServerError } from "../../errors.ts";
import { methodOf, type Route } from "./route.ts";

/** The query or body of a call, checked; a call without input takes none. */
export function checkRouteInput(route: Route, value: unknown): unknown {
  return methodOf(route) === "GET"
    ? checkInput(route.input ?? z.object({}), value, "QUERY_INVALID")
    : checkInput(route.input ?? z.strictObject({}), value, "BODY_INVALID");
}

/** @throws MockServerError that names the fields that are wrong */
export function checkInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  code: "BODY_INVALID" | "QUERY_INVALID",
): z.output<Schema> {
  const { value: checked, issues } = checkSchema(schema, value);
  if (!issues) return checked;
  const [first] = issues;
  const place = first?.path || (code === "BODY_INVALID" ? "body" : "query");
  throw new MockServerError(code, `${place}: ${first?.message}`, { issues });
}
