import { testSeeds } from "./seed-range.ts";

testSeeds(376, 500);
