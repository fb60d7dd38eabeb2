import { describe } from "vitest";
import { missingProgram } from "./missing-program.ts";

export const hasRabbitmq = (await missingProgram("rabbitmq")) === undefined;
export const describeWithRabbitmq = describe.skipIf(!hasRabbitmq);
