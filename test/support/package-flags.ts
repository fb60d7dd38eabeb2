// Programs that tests start load the build when it is current, as in `npm test`, and else the sources: from them a program
// starts in half a second of processor time, from the build in a tenth.
import { isBuilt } from "../../scripts/build-inputs.ts";

const usesBuild = isBuilt();

/** Of node, for JavaScript that imports the package by its names. */
export const packageFlags: readonly string[] = usesBuild
  ? []
  : ["--conditions=workspace-tasks-source", "--import", "tsx"];

/** Of node, for TypeScript that imports the package by its names. */
export const packageFlagsOfTypescript: readonly string[] = usesBuild ? ["--import", "tsx"] : packageFlags;

/** Tells examples/run.mjs which it is. */
export const packageEnvironment: Readonly<Record<string, string>> = usesBuild
  ? { WORKSPACE_TASKS_EXAMPLES: "built" }
  : {};
