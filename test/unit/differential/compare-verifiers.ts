import { isDeepStrictEqual } from "node:util";
import { sign } from "../../../mock-server/tools/check-receiver/target/signing.ts";
import type { Counts, DifferentialPart } from "./differential-part.ts";
import { describeRequest, type GeneratedRequest, generateRequest, macOf } from "./generated-request.ts";
import {
  type Differences,
  isRepeated,
  mustReject,
  standardWebhooksDifferences,
  svixDifferences,
} from "./verifier-differences.ts";
import * as verifiers from "./verifiers.ts";

export interface Peer {
  readonly name: string;
  readonly verdict: verifiers.PeerVerdict;
  readonly differences: Differences;
}

export const packagePeers: readonly Peer[] = [
  { name: "standardwebhooks", verdict: verifiers.standardWebhooks, differences: standardWebhooksDifferences },
  { name: "svix", verdict: verifiers.svix, differences: svixDifferences },
];

/** Adds to `counts` what was decided. Returns what is wrong, or undefined. */
async function compareRequest(
  request: GeneratedRequest,
  peers: readonly Peer[],
  counts: Counts,
): Promise<string | undefined> {
  const kit = await verifiers.kitVerdict(request);
  counts.add(kit.accepts ? "accepted by the kit" : `rejected by the kit: ${kit.code}`);
  if (kit.accepts && mustReject(request)) return "the kit accepts what it must reject";
  const distinct = await verifiers.kitVerdict(request, verifiers.distinctHeaders(request.lines));
  if (!isDeepStrictEqual(distinct, kit)) return `headersDistinct: ${JSON.stringify([distinct, kit])}`;
  const headers = fetchHeaders(request);
  const joined = headers && (await verifiers.kitVerdict(request, headers));
  if (joined && joined.accepts !== kit.accepts) return `Headers: ${JSON.stringify([joined, kit])}`;
  for (const peer of peers) {
    const problem = comparePeer(request, kit, peer, counts);
    if (problem !== undefined) return problem;
  }
  return checkAuditSigning(request, counts);
}

function comparePeer(
  request: GeneratedRequest,
  kit: verifiers.KitVerdict,
  peer: Peer,
  counts: Counts,
): string | undefined {
  const { name, verdict, differences } = peer;
  const secretIndex = verdict(request);
  counts.add(`compared with ${name}`);
  const { libraryAlone, kitAlone } = differences;
  const isDifferent = [...libraryAlone, ...kitAlone].some(({ explains }) => explains(request));
  if (kit.accepts === secretIndex >= 0) {
    const isOther = kit.accepts && kit.secretIndex !== secretIndex && !isDifferent;
    return isOther
      ? `${name} accepts with secret ${secretIndex}, the kit with ${kit.secretIndex}`
      : undefined;
  }
  const found = (kit.accepts ? kitAlone : libraryAlone).filter(({ explains }) => explains(request));
  for (const { id } of found) counts.add(`${name} ${kit.accepts ? "rejects" : "accepts"}: ${id}`);
  if (found.length > 0 || (isRepeated(request) && !kit.accepts)) return undefined;
  return `${kit.accepts ? "the kit" : name} alone accepts; the kit: ${JSON.stringify(kit)}`;
}

/** The form of fetch, where it can represent the request: it trims values and rejects control characters. */
function fetchHeaders({ lines }: GeneratedRequest): Headers | undefined {
  if (lines.some(([name, value]) => /[^!-~]/.test(name) || /[^ -~]|^ | $/.test(value))) return undefined;
  return new Headers(lines.map(([name, value]) => [name, value]));
}

/** The audit signs what the receivers of others verify: its signature is the one that was computed here. */
function checkAuditSigning(request: GeneratedRequest, counts: Counts): string | undefined {
  const [entry] = request.entries;
  if (!entry || Object.keys(entry.signed).length > 0 || entry.over === "text") return undefined;
  const { id, timestamp, body } = request;
  counts.add("signed by the audit");
  const expected = `v1,${macOf(request, entry).toString("base64")}`;
  const signature = trySign(() => sign({ id, timestamp, body }, entry.secret));
  // The library that the audit signs with takes no key that is not base64.
  return signature === undefined || signature === expected
    ? undefined
    : `the audit signs ${signature}, expected ${expected}`;
}

function trySign(sign: () => string): string | undefined {
  try {
    return sign();
  } catch {
    return undefined;
  }
}

export const createVerifierPart = (peers: readonly Peer[]): DifferentialPart => ({
  what: "generated requests",
  async runOne(seed, counts) {
    const request = generateRequest(seed);
    const problem = await compareRequest(request, peers, counts).catch(String);
    return problem === undefined ? undefined : `${problem}\n${describeRequest(request)}`;
  },
});
