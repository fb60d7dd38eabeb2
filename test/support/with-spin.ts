import { describe } from "vitest";
import { missingProgram } from "./missing-program.ts";

export const describeWithSpin = describe.skipIf((await missingProgram("spin")) !== undefined);
