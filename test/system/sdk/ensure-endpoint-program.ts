import { argv } from "node:process";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import { createClient, fileSecrets } from "@workspace-tasks/sdk";

// Ensures an endpoint with its secrets in a file, prints the secrets, and rotates them until it is killed where that is asked.

export interface EnsureEndpointProcessInput {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly url: string;
  /** Of the file. */
  readonly path: string;
  readonly rotates: boolean;
  /** How far its clock is ahead: it does not wait for a process that was killed just now. */
  readonly aheadMs: number;
}

const { apiKey, baseUrl, url, path, rotates, aheadMs } = JSON.parse(
  argv[2] ?? "{}",
) as EnsureEndpointProcessInput;
const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
const client = createClient({ apiKey, baseUrl, clock, rateLimit: false });
const secrets = fileSecrets(path);

const { secrets: texts } = await client.webhooks.ensureEndpoint({ url, secrets });
process.stdout.write(`${JSON.stringify(texts)}\n`);
while (rotates) await client.webhooks.rotateEndpointSecret({ secrets, gracePeriodSeconds: 0 });
await client.close();
