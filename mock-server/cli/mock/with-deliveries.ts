import { UsageError } from "@workspace-tasks/kernel/cli/command-line.ts";
import { isLoopbackHost, withoutBrackets } from "@workspace-tasks/kernel/host.ts";
import { isReceiverUrl } from "../../checks/service-url.ts";
import { defaultSettings, type SettingsChanges, withSettings } from "../../settings/settings.ts";
import { type MockOptions, receiverExpected } from "./mock-options.ts";

type DeliveryFlags = Pick<MockOptions, "deliverTo" | "deliverOnly" | "allowHttpHost">;

/**
 * The settings with the flags about deliveries. The receiver is part of the seed data, so that a reset keeps it, with its
 * secret.
 * @throws UsageError for a receiver to which the mock would not deliver
 */
export function withDeliveries(
  given: SettingsChanges | undefined,
  { deliverTo: url, deliverOnly, allowHttpHost }: DeliveryFlags,
): SettingsChanges | undefined {
  const httpHostsAllowed = [...(given?.httpHostsAllowed ?? []), ...allowHttpHost];
  const changes = allowHttpHost.length === 0 ? given : { ...given, httpHostsAllowed };
  if (url === undefined) return changes;
  checkReceiver(url, changes);
  const { host, hostname } = new URL(url);
  if (deliverOnly === "loopback" && !isLoopbackHost(hostname))
    throw new UsageError(
      `--deliver-only: loopback sends nothing to ${host} of --deliver-to; omit one of them`,
    );
  const { seedData = defaultSettings.seedData } = changes ?? {};
  const [first, ...others] = seedData.workspaces;
  const endpoints = first?.endpoints ?? [];
  if (!first || endpoints.some((endpoint) => endpoint.url === url)) return changes;
  const workspace = { ...first, endpoints: [...endpoints, { url }] };
  return { ...changes, seedData: { workspaces: [workspace, ...others] } };
}

function checkReceiver(url: string, changes: SettingsChanges | undefined): void {
  if (isReceiverUrl(url, withSettings(changes))) return;
  const got = `got ${JSON.stringify(url)}`;
  const { hostname } = new URL(url);
  if (isLoopbackHost(hostname))
    throw new UsageError(`--deliver-to: expected an https URL, as allowLoopbackHttp is false, ${got}`);
  const name = withoutBrackets(hostname);
  throw new UsageError(
    `--deliver-to: expected ${receiverExpected}, ${got}; for plain HTTP to the container or computer ${name} add --allow-http-host ${name}`,
  );
}
