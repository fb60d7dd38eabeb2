import * as sdk from "@workspace-tasks/sdk";
import { walk } from "./walk.mjs";

// Bundlers for browsers replace process.env as such.
const { env } = globalThis.process;
console.log(await walk(sdk, env));
