import { judgeSeeds } from "./judge-seeds.ts";

judgeSeeds(251, 375);
