// Runs one of the foreign receivers as a process of its own, as a partner would, so that nothing it does
// (an exception that ends the process, a log full of stack traces) can touch the audit or the tests.
// Arguments: name, secret. Prints one line of JSON and serves until it is ended.

import { startExpressStandardWebhooks } from "./express-standardwebhooks.ts";
import { startExpressSvix } from "./express-svix.ts";
import { startOctokit, startOctokitBehindJsonParser } from "./octokit-webhooks.ts";

const receivers = {
  "express-standardwebhooks": startExpressStandardWebhooks,
  "express-svix": startExpressSvix,
  octokit: startOctokit,
  "octokit-behind-json-parser": startOctokitBehindJsonParser,
} as const;

const [name = "", secret = ""] = process.argv.slice(2);
const start = Object.entries(receivers).find(([known]) => known === name)?.[1];
if (!start) throw new Error(`expected one of ${Object.keys(receivers).join(", ")}, got ${name}`);
const { url, observeUrl } = await start(secret);
console.log(JSON.stringify({ url, observeUrl }));
