import type { z } from "zod";
import { MockServerError } from "../../errors.ts";

/** @throws MockServerError that names the fields that are wrong */
export function checkInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  code: "BODY_INVALID" | "QUERY_INVALID",
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  const [first] = issues;
  throw new MockServerError(code, `${first?.path || "body"}: ${first?.message}`, { issues });
}
