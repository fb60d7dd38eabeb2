import type { SimulationRun } from "./actions.ts";
import type { Fault } from "./faults.ts";
import type { Random } from "./random.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** Beyond the tolerance of signatures, or within it. */
const aheadMs = [-hourMs, -240_000, 0, 240_000, hourMs] as const;

type StepFault = (run: SimulationRun, random: Random) => unknown;

const stepFaults: Partial<Record<Fault, StepFault>> = {
  storeFailover({ world }, random) {
    world.storeOutage.failovers += 1;
    world.storeOutage.untilMs = world.clock.monotonic() + random.integer(0, 8_000);
    world.trace.log("the store fails over");
  },
  receiverClockSet({ world, receivers }, random) {
    const process = random.sample(receivers.running())?.process;
    const ahead = random.pick(aheadMs);
    if (!process) return;
    process.setClock(ahead);
    world.trace.log(`the clock of ${process.name} is ${ahead / 1_000} s ahead`);
  },
  sdkClockSet({ world, service }, random) {
    const sdkProcess = random.sample(service.sdkProcesses)!;
    sdkProcess.aheadMs = random.pick(aheadMs);
    world.trace.log(`the clock of ${sdkProcess.name} is ${sdkProcess.aheadMs / 1_000} s ahead`);
  },
  async retention({ world, receivers }) {
    const retention = { bodiesMs: 0, unhandledBodiesMs: 0, rowsMs: 14 * dayMs, headsMs: 14 * dayMs };
    const removed = await receivers.store.purge({ ...retention, asOfMs: world.clock.now() }, 10_000);
    world.trace.log(`retention removes ${removed} bodies`);
  },
  async oddDetails({ world, service }, random) {
    const taskId = random.sample(service.manualTaskIds);
    const details = random.pick<Record<string, unknown>>([
      { customerError: { code: "MISSING", action: null } },
      { customerError: { code: "MISSING" } },
      { taxPrepResult: { taxYear: null } },
      { errorMessage: { text: "an object" } },
    ]);
    if (taskId === undefined) return;
    const { status, taskType, clientId } = await service.mock.control.getTask(taskId);
    if (status === "COMPLETED") return;
    const occurredAt = new Date(world.clock.now()).toISOString();
    const payload = { clientId, taskId, taskType, status, occurredAt, errorMessage: null, ...details };
    const { eventId } = await service.mock.control.sendEvent({
      name: `task.${status.toLowerCase()}`,
      payload,
    });
    service.oddEventIds.add(eventId);
  },
};

/** Draws the faults of one step. */
export async function injectStepFaults(run: SimulationRun, step: number): Promise<void> {
  for (const [fault, inject] of Object.entries(stepFaults) as [Fault, StepFault][]) {
    const random = run.world.random.stream(`${fault}/${step}`);
    if (run.world.faultOccurs(fault, random)) await inject(run, random);
  }
}

/** Sometimes sends `task.running`, five minutes ahead of the true time, about a task that has completed. */
export async function maybeSendSkewedEvent({ world, service }: SimulationRun): Promise<void> {
  const random = world.random.stream(`skewed event/${world.clock.now()}`);
  const taskId = random.sample(service.manualTaskIds);
  if (!world.settings.wrongTimes || taskId === undefined || !random.happens(0.1)) return;
  const { status, taskType, clientId } = await service.mock.control.getTask(taskId);
  if (status !== "COMPLETED") return;
  const occurredAt = new Date(world.clock.now() + 300_000).toISOString();
  const payload = { clientId, taskId, taskType, status: "RUNNING", occurredAt, errorMessage: null };
  await service.mock.control.sendEvent({ name: "task.running", payload });
  world.meet("skewedEvent");
}
