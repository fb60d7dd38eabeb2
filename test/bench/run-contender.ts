// The child process of `alternate`: run-contender.ts FILE ARGUMENT NAME

import { join } from "node:path";
import type { CreateContender } from "./alternate.ts";
import { startMeter } from "./meter.ts";
import { answerParent } from "./parent.ts";

const [file = "", argument = "", name = ""] = process.argv.slice(2);
const { createContender } = (await import(join(import.meta.dirname, file))) as {
  createContender: CreateContender;
};
const run = await createContender(name, argument);

answerParent("ready", async ({ count }: { count: number }) => {
  const stop = startMeter();
  await run(count);
  return stop(count);
});
