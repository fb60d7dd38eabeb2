import * as sdk from "workspace-tasks/sdk";
import { walk } from "./walk.mjs";

await walk(sdk);
