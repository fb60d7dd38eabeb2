import { it } from "vitest";
import { missingProgram } from "./missing-program.ts";

export const itWithPython = it.skipIf((await missingProgram("python")) !== undefined);
