import { judgeSeeds } from "./judge-seeds.ts";

judgeSeeds(126, 250);
