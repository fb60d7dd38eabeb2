// The child process of `alternate`: run-contender.ts FILE ARGUMENT NAME

import { join } from "node:path";
import type { CreateContender } from "./alternate.ts";
import { startMeter } from "./meter.ts";

const [file = "", argument = "", name = ""] = process.argv.slice(2);
const { createContender } = (await import(join(import.meta.dirname, file))) as {
  createContender: CreateContender;
};
const run = await createContender(name, argument);

process.on("disconnect", () => process.exit());
process.on("message", ({ count }: { count: number }) => void measure(count));
process.send?.("ready");

async function measure(count: number): Promise<void> {
  const stop = startMeter();
  await run(count);
  process.send?.(stop(count));
}
