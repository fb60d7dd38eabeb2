import { judgeSeeds } from "./judge-seeds.ts";

judgeSeeds(376, 500);
