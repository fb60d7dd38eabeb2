import * as sdk from "@workspace-tasks/sdk";
import { walk } from "./walk.mjs";

console.log(await walk(sdk, process.env));
