// The inside of a ContenderProcess: run-contender.ts FILE ARGUMENT NAME

import { join } from "node:path";
import type { ListContenders } from "./contender.ts";

const [file = "", argument = "", name = ""] = process.argv.slice(2);
const { contenders } = (await import(join(import.meta.dirname, file))) as { contenders: ListContenders };
const contender = (await contenders(argument)).find((each) => each.name === name);
if (!contender) throw new Error(`no contender ${name} in ${file}`);

process.on("disconnect", () => process.exit());
process.on("message", ({ count }: { count: number }) => void measure(count));
process.send?.("ready");

async function measure(count: number): Promise<void> {
  const cpu = process.cpuUsage();
  const wall = performance.now();
  await contender?.run(count);
  const { user, system } = process.cpuUsage(cpu);
  process.send?.({
    cpuUs: (user + system) / count,
    wallUs: ((performance.now() - wall) * 1_000) / count,
  });
}
