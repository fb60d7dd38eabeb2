import { createHmac } from "node:crypto";
import type { Signing } from "../../../receiver-kit/audit/target/signing.ts";

/** The signatures of GitHub, for comparisons with octokit: no timestamp, and the id is not signed. */
export const githubSigning: Signing = {
  headerNames: { id: "x-github-delivery", event: "x-github-event", signature: "x-hub-signature-256" },
  prefix: "sha256=",
  encoding: "hex",
  keyOf: (secret) => Buffer.from(secret, "utf8"),
  sign: (content, secret) => githubSigning.signWithKey(content, githubSigning.keyOf(secret)),
  signWithKey: ({ body }, key) => `sha256=${createHmac("sha256", key).update(body).digest("hex")}`,
};

const standardWebhooksOnly =
  /^(timestamp|rotation)\.|^headers\.(?!other-case|too-large)|^signature\.(other-id|other-timestamp|unknown-version|other-spelling|trailing-junk)$/;

/** Whether a check says something about such signatures. */
export const appliesToGithub = ({ id }: { readonly id: string }): boolean => !standardWebhooksOnly.test(id);
