import * as flags from "@workspace-tasks/kernel/cli/command-line.ts";
import { isHostName } from "@workspace-tasks/kernel/host.ts";
import { isHttpUrl } from "../../checks/service-url.ts";
import { contractProfile } from "../../faults/contract-profile.ts";
import { isOrigin, type MockServerOptions } from "../../server-options.ts";
import type { SettingsChanges } from "../../settings/settings.ts";

export const receiverExpected =
  "an https URL, or an http URL of this computer such as http://127.0.0.1:3000/webhooks";

/** The flags that `mock` and `mock exec` share. @param secret what becomes of that of `--deliver-to` */
export const mockFlagsWith = (secret: string) => ({
  host: flags.text("<name>", "address to listen on", "127.0.0.1"),
  clock: flags.choice(["real", "virtual"], "virtual: moves only on command", "real"),
  seed: flags.wholeNumber("equal seeds give equal keys, with a virtual clock also equal ids", {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    fallback: 1,
  }),
  state: flags.text("<file.json>", "resume from this snapshot, and update it"),
  deliverTo: flags.flag("<url>", `send every event there, ${secret}`, {
    parse: (value) => (isHttpUrl(value) ? value : undefined),
    expected: receiverExpected,
  }),
  allowHttpHost: flags.list(
    "<name>",
    "also deliver over plain HTTP to this host, such as another container; repeatable",
    { accepts: isHostName, expected: "a host name without a port" },
  ),
  deliverOnly: flags.choice(["loopback"], "send no delivery to another computer"),
  chaos: flags.choice(["contract"], "duplicate, delay and reorder deliveries"),
  settings: flags.text("<file.json>", "retry schedule, limits, seed data, …"),
  set: flags.repeated("<name>=<value>", "a setting: rateLimit.requests=5; repeatable"),
  allowHost: flags.list("<name>", "serve under this host name too; repeatable", {
    accepts: isHostName,
    expected: "a host name without a port",
  }),
  allowOrigin: flags.list("<origin>", "serve web pages of this origin; repeatable", {
    accepts: isOrigin,
    expected: "an origin such as http://localhost:3000",
  }),
});

export const portFlag = (fallback: number) =>
  flags.wholeNumber("port; 0 takes any that is free", { min: 0, max: 65_535, fallback });

export type MockOptions = flags.FlagValues<ReturnType<typeof mockFlagsWith>> & { readonly port: number };

export function serverOptionsOf(
  options: MockOptions,
  settings: SettingsChanges | undefined,
): MockServerOptions {
  const { port, host, clock, seed, deliverOnly, chaos, allowHost, allowOrigin } = options;
  return {
    port,
    host,
    clock,
    seed,
    deliverOnly,
    faults: chaos && contractProfile,
    settings,
    hostsAllowed: allowHost,
    originsAllowed: allowOrigin,
  };
}
