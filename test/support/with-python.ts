import { it } from "vitest";
import { missingProgram } from "./shared-server.ts";

export const itWithPython = it.skipIf((await missingProgram("python")) !== undefined);
