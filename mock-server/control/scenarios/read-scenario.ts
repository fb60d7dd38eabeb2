import { parseJsonText } from "@workspace-tasks/kernel/json-text.ts";
import { MockServerError } from "../../errors.ts";
import { checkInput } from "../contract/check-input.ts";
import { type Scenario, scenario } from "./scenario-routes.ts";

/** Reads a scenario from the text of a file. @throws MockServerError BODY_INVALID that names the first step and field that are wrong */
export function parseScenario(text: string): Scenario {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch (cause) {
    throw new MockServerError("BODY_INVALID", `the text is not JSON: ${(cause as Error).message}`, { cause });
  }
  return checkInput(scenario, value, "BODY_INVALID");
}
