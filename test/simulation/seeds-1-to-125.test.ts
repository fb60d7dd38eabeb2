import { judgeSeeds } from "./judge-seeds.ts";

judgeSeeds(1, 125);
