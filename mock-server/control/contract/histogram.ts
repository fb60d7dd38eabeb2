import * as z from "zod";
import { barsDefault } from "../../settings/settings.ts";
import { inQuery, time } from "./fields.ts";

const barsMax = 200;

export const barsQuery = {
  bars: inQuery(z.int().min(1).max(barsMax)).optional().describe(`At most. Default: ${barsDefault}.`),
};

export const histogramOf = <Series extends z.ZodType<string>>(series: Series) =>
  z.object({
    from: time.describe("Start of the first bar."),
    barMs: z.int().describe("Length of each bar."),
    bars: z
      .array(z.object({ index: z.int(), counts: z.record(series, z.int()) }))
      .describe("Those that are not empty, in order; `index` 0 begins at `from`."),
  });
