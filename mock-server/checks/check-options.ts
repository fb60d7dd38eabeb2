import { parse, refine, type Schema } from "@workspace-tasks/kernel/schema.ts";
import { MockServerError } from "../errors.ts";

/**
 * Validates options for JavaScript callers, unknown names included.
 * @param caller the function whose options they are, for the message
 * @throws MockServerError CONFIGURATION_INVALID for the first option that is wrong
 */
export function checkOptions<Options>(caller: string, options: unknown, schema: Schema<Options>): Options {
  return parse(schema, options, ({ messageWithValue }) => invalidOption(caller, "", messageWithValue));
}

/** @param place the option, or "" for all options together */
export const invalidOption = (caller: string, place: string, message: string) =>
  new MockServerError("CONFIGURATION_INVALID", `${caller}: ${place === "" ? "" : `${place}: `}${message}`);

export const urlOption = refine<string>(
  "a URL such as http://127.0.0.1:4010",
  (value) => typeof value === "string" && /^https?:\/\//i.test(value) && URL.canParse(value),
);
