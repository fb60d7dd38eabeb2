import { testSeeds } from "./seed-range.ts";

testSeeds(1, 125);
