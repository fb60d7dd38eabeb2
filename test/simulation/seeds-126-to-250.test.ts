import { testSeeds } from "./seed-range.ts";

testSeeds(126, 250);
