// Stripe signs `timestamp.body` with the text of the secret and writes hexadecimal: a request is sent to it with the same
// times, bytes and MACs in its own form. Its package is installed with those of the benchmarks.

import { createHmac } from "node:crypto";
import { loadPeer } from "../../bench/load-peer.ts";
import type { Peer } from "./compare-verifiers.ts";
import type { Entry } from "./draft.ts";
import { type GeneratedRequest, signedBytes } from "./generated-request.ts";
import { stripeDifferences } from "./verifier-differences.ts";
import type { PeerVerdict } from "./verifiers.ts";

/** Verifies without parsing. @throws when the signature or its time is rejected */
export type VerifyStripe = (request: {
  readonly body: Buffer;
  readonly header: string;
  readonly secret: string;
  readonly toleranceSeconds: number;
  readonly nowMs: number;
}) => void;

export async function loadStripe(): Promise<Peer> {
  const { verifyStripe } = await loadPeer<{ verifyStripe: VerifyStripe }>("verifiers");
  const verdict: PeerVerdict = (request) => {
    const { body, nowMs, toleranceSeconds } = request;
    const header = headerOf(request);
    return request.secrets.findIndex((secret) => {
      try {
        verifyStripe({ body, header, secret, toleranceSeconds, nowMs });
        return true;
      } catch {
        return false;
      }
    });
  };
  return { name: "stripe", verdict, speaks, differences: stripeDifferences };
}

/** Lists, spellings and header lines are those of the other scheme. */
const speaks = ({ writeList, changeLines, entries, timestamp }: GeneratedRequest) =>
  !writeList &&
  !changeLines &&
  !/[,=]/.test(timestamp) &&
  entries.every(({ spell, version }) => !spell && !/[,=]/.test(version));

const headerOf = (request: GeneratedRequest) =>
  [
    `t=${request.timestamp}`,
    ...request.entries.map((entry) => `${entry.version}=${macOf(request, entry)}`),
  ].join(",");

function macOf({ timestamp, body }: GeneratedRequest, { secret, over, signed, changeMac }: Entry): string {
  const mac = createHmac("sha256", secret)
    .update(`${signed.timestamp ?? timestamp}.`)
    .update(signedBytes(signed.body ?? body, over))
    .digest();
  return (changeMac?.(mac) ?? mac).toString("hex");
}
