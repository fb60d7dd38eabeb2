import { describe } from "vitest";
import { missingProgram } from "./shared-server.ts";

export const hasRabbitmq = (await missingProgram("rabbitmq")) === undefined;
export const describeWithRabbitmq = describe.skipIf(!hasRabbitmq);
