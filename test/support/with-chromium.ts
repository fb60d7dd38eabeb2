import { describe, it } from "vitest";
import { missingProgram } from "./missing-program.ts";

const isMissing = (await missingProgram("chromium")) !== undefined;
export const describeWithChromium = describe.skipIf(isMissing);
export const itWithChromium = it.skipIf(isMissing);
