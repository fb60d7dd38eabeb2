import { describe, it } from "vitest";
import { missingProgram } from "./shared-server.ts";

const isMissing = (await missingProgram("chromium")) !== undefined;
export const describeWithChromium = describe.skipIf(isMissing);
export const itWithChromium = it.skipIf(isMissing);
