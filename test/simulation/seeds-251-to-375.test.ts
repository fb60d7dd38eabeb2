import { testSeeds } from "./seed-range.ts";

testSeeds(251, 375);
