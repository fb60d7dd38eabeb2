import type { ReceiverFunction } from "./outbound/in-process-transport.ts";
import type { ConnectionCheck } from "./outbound/port.ts";
import type { SettingsChanges } from "./settings.ts";
import type { FaultPlan } from "./state/fault.ts";
import type { Clock } from "./time/clock.ts";

export type MockServerOptions = {
  /** `false`: no port, reachable through `fetch` only. Default: `true`. */
  readonly listen?: boolean | undefined;
  /** Default: 0, any free port. */
  readonly port?: number | undefined;
  /** Default: `127.0.0.1`. Anything but loopback lets others on the network in. */
  readonly host?: string | undefined;
  /** `virtual`: time moves only by `clock.advance`. A clock of your own is shared. Default: `real`. */
  readonly clock?: "real" | "virtual" | Clock | undefined;
  /** Equal seeds and equal calls give equal ids, keys, faults and journals. Default: 1. */
  readonly seed?: number | undefined;
  /** Changes to single settings; everything else keeps its default. */
  readonly settings?: SettingsChanges | undefined;
  /** Faults from the start on; a reset brings them back. */
  readonly faults?: FaultPlan | undefined;
  /** Receivers in this process by endpoint URL, called in place of a socket. */
  readonly receivers?: ReadonlyMap<string, ReceiverFunction> | undefined;
  /** Certificates in PEM that HTTPS receivers may show, beside those that Node trusts. Default: none. */
  readonly trustedCertificates?: readonly string[] | undefined;
  /** Replaces the check of a provider connection: `true` makes it `active`. */
  readonly checkConnection?: ((check: ConnectionCheck) => boolean | Promise<boolean>) | undefined;
  /** Host names besides the loopback ones that the control API answers to. Default: none. */
  readonly hostsAllowed?: readonly string[] | undefined;
};

const optionNames: Readonly<Record<keyof MockServerOptions, true>> = {
  listen: true,
  port: true,
  host: true,
  clock: true,
  seed: true,
  settings: true,
  faults: true,
  receivers: true,
  trustedCertificates: true,
  checkConnection: true,
  hostsAllowed: true,
};

/**
 * Refuses what would otherwise be ignored or fail much later, for callers without a compiler at hand.
 * @throws TypeError says what was expected and what came
 */
export async function checkMockOptions(options: MockServerOptions): Promise<void> {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(optionNames, name)) continue;
    const known = Object.keys(optionNames).join(", ");
    throw new TypeError(`createMockServer: unknown option "${name}", expected some of ${known}`);
  }
  if (!isClock(options.clock ?? "real")) {
    const got = typeof options.clock === "string" ? `"${options.clock}"` : typeof options.clock;
    throw new TypeError(`createMockServer: clock: expected "real", "virtual" or a clock, got ${got}`);
  }
  if (options.faults) await checkFaults(options.faults);
}

function isClock(clock: unknown): boolean {
  if (typeof clock === "string") return clock === "real" || clock === "virtual";
  const methods = ["now", "monotonic", "schedule"] as const;
  return (
    typeof clock === "object" &&
    methods.every((name) => typeof Reflect.get(clock as object, name) === "function")
  );
}

/** The schema is loaded only here: a mock without faults starts sooner. */
async function checkFaults(faults: FaultPlan): Promise<void> {
  const { faultPlanSchema } = await import("./state/fault.ts");
  const checked = faultPlanSchema.safeParse(faults);
  if (checked.success) return;
  const [issue] = checked.error.issues;
  throw new TypeError(`createMockServer: faults.${issue?.path.join(".")}: ${issue?.message}`);
}
