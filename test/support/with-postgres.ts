import { describe, it } from "vitest";
import { missingProgram } from "./shared-server.ts";

export const hasPostgres = (await missingProgram("postgres")) === undefined;
export const describeWithPostgres = describe.skipIf(!hasPostgres);
export const itWithPostgres = it.skipIf(!hasPostgres);
