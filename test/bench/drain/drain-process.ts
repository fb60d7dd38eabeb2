// The child process of `drain`: drain-process.ts NAME STORE writes|reads

import { readFileSync } from "node:fs";
import { loadPeer } from "../load-peer.ts";
import { type Sample, startMeter } from "../meter.ts";
import type { CreateDrainer, DrainProgress, DrainRequest } from "./drainer.ts";
import { kitDrainers } from "./kit-drainers.ts";

const [name = "", store = "", effect] = process.argv.slice(2);
const create: CreateDrainer | undefined =
  kitDrainers[name] ??
  (await loadPeer<Record<"jobQueues", typeof kitDrainers>>("job-queues")).jobQueues[name];
if (!create) throw new Error(`no drainer is named ${name}`);
const drainer = await create({ store, writes: effect === "writes" });
let handled = 0;
let bytesBefore: number | undefined;
let stopMeter = (): Sample => ({ cpuUs: 0, wallUs: 0 });

process.on("disconnect", () => process.exit());
process.on("message", (request: DrainRequest) => {
  run(request).then(
    (response) => process.send?.(response),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.send?.("ready");

async function run(request: DrainRequest): Promise<DrainProgress> {
  if ("fill" in request) await drainer.fill(request.fill);
  if ("stop" in request) await drainer.stop();
  if ("start" in request) {
    handled = 0;
    bytesBefore = bytesWritten();
    stopMeter = startMeter();
    await drainer.start(() => {
      handled++;
    });
  }
  const bytes = bytesWritten();
  return {
    handled,
    cpuUs: stopMeter().cpuUs,
    bytesWritten: bytes === undefined || bytesBefore === undefined ? undefined : bytes - bytesBefore,
  };
}

/** Linux counts them. */
function bytesWritten(): number | undefined {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}
