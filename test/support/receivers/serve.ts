// Runs one of the receivers in its own process, so that an exception or a log of it cannot reach the tests.
// Arguments: name, secret, for the kit also an old secret. Prints one line of JSON and serves until it is ended.

import { startExpressStandardWebhooks, startExpressSvix } from "./express-libraries.ts";
import { startKitReceiver } from "./kit-receiver.ts";
import type { RunningReceiver } from "./running-receiver.ts";
import type { ReceiverName } from "./served-receiver.ts";

const receivers: Readonly<
  Record<ReceiverName, (...secrets: [string, ...string[]]) => Promise<RunningReceiver>>
> = {
  kit: (...secrets) => startKitReceiver(secrets),
  "express-standardwebhooks": startExpressStandardWebhooks,
  "express-svix": startExpressSvix,
};

const [name = "", secret = "", ...oldSecrets] = process.argv.slice(2);
const start = Object.entries(receivers).find(([known]) => known === name)?.[1];
if (!start) throw new Error(`expected one of ${Object.keys(receivers).join(", ")}, got ${name}`);
const { url, observeUrl } = await start(secret, ...oldSecrets);
console.log(JSON.stringify({ url, observeUrl }));
