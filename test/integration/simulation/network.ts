import { signBytes } from "../../support/signed-delivery.ts";
import type { Random } from "./random.ts";
import { acceptTimeoutMs, type SimulatedReceiver } from "./simulated-receiver.ts";
import { type SimulationWorld, type Store, storedSource } from "./world.ts";

/** The network between senders and the receiver processes. */
export interface Network {
  /** Delivers a request of the service, or a forged one, to one of the processes. */
  deliver(request: Request): Promise<Response>;
  /** Ids of the deliveries that were answered with 200. */
  readonly acknowledged: ReadonlySet<string>;
  /** The latest requests as they arrived, for attackers who send them again. */
  readonly captured: readonly CapturedRequest[];
}

export interface CapturedRequest {
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

export interface NetworkOptions {
  readonly store: Store;
  /** The processes that accept connections now. */
  readonly receivers: () => readonly SimulatedReceiver[];
  readonly secrets: () => readonly string[];
}

const senderTimeoutMs = 15_000;
// The body arrives at once, so only storing takes time.
const responseMsMax = acceptTimeoutMs;
const toleranceSeconds = 300;
const capturedMax = 20;

export function createNetwork(world: SimulationWorld, options: NetworkOptions): Network {
  const { check, trace, clock } = world;
  const random = world.random.stream("network");
  const acknowledged = new Set<string>();
  const captured: CapturedRequest[] = [];
  const inFlight = new Map<string, SimulatedReceiver>();

  const hasSecrets = () => options.secrets().length > 0;

  async function deliver(request: Request): Promise<Response> {
    const headers = Object.fromEntries(request.headers);
    const sent = Buffer.from(await request.arrayBuffer());
    const body = world.faultOccurs("corruptedBody", random) ? corrupt(sent, random) : sent;
    const id = headers["webhook-id"] ?? "";
    const name = trace.nameOf("delivery", id);
    const receiver = random.sample(options.receivers());
    if (!receiver) {
      trace.log(`${name} fails: no receiver process is running`);
      throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    }
    captured.push({ headers, body });
    if (captured.length > capturedMax) captured.shift();
    const signatureBy = signer({ headers, body });
    const isGenuineNow = () =>
      isGenuine(headers, signatureBy, options.secrets(), receiver.process.clock.now());
    const genuine = isGenuineNow();
    const hadSecrets = hasSecrets();
    const { clockChanges } = receiver.process;
    if (inFlight.has(id) && inFlight.get(id) !== receiver) world.meet("C10");
    inFlight.set(id, receiver);
    const response = await send(receiver, request.url, headers, body);
    inFlight.delete(id);
    const { process } = receiver;
    trace.log(`${process.name} returns ${response.status} for ${name}${genuine ? "" : " (not genuine)"}`);
    // While the request was in flight, its secret may have been retired, the receiver's first one have arrived, its timestamp
    // have become too old, or the clock of the receiver have been set there and back.
    const isUnchanged = process.clockChanges === clockChanges && hasSecrets() === hadSecrets;
    if (isUnchanged && isGenuineNow() === genuine) checkStatus(name, genuine, response.status);
    if (response.ok) {
      const row = await options.store.get({ source: storedSource(world.settings), id });
      check("I1", row !== undefined, () => `${name} was acknowledged and is not in the inbox`);
      acknowledged.add(id);
    }
    if (world.faultOccurs("lostResponse", random)) throw new Error("the response was lost");
    await Promise.race([process.crashPoint("C4"), process.death]).catch(() => {});
    return response;
  }

  async function send(
    { process, receiver }: SimulatedReceiver,
    url: string,
    headers: Record<string, string>,
    body: Buffer,
  ): Promise<Response> {
    const startedMs = clock.monotonic();
    const { pauses, state } = process;
    const respond = async () => {
      await process.crashPoint("C0");
      const request = new Request(url, { method: "POST", headers, body: new Uint8Array(body) });
      const response = await receiver.fetch(request);
      await process.sleep();
      return response;
    };
    const timeout = startTimeout(clock, senderTimeoutMs);
    try {
      return await Promise.race([respond(), process.death, timeout.expired]);
    } finally {
      timeout.cancel();
      const tookMs = clock.monotonic() - startedMs;
      const wasRunning = state === "running" && process.state === "running" && process.pauses === pauses;
      check("W1", !wasRunning || tookMs <= responseMsMax, () => `a delivery took ${tookMs} ms`);
    }
  }

  function checkStatus(name: string, genuine: boolean, status: number): void {
    // A receiver without any secret cannot verify and returns 503.
    const mayBeUnavailable = world.settings.probabilities.secretsUnavailable > 0;
    const rejected = hasSecrets() && !mayBeUnavailable ? [400, 401] : [400, 401, 503];
    const allowed = genuine ? [200, 429, 503] : rejected;
    const kind = genuine ? "genuine" : "not genuine";
    check("I6", allowed.includes(status), () => `${name} is ${kind} and got the status ${status}`);
  }

  return { deliver, acknowledged, captured };
}

/** The expected result of verification, computed independently of the receiver. */
function isGenuine(
  { "webhook-timestamp": timestamp, "webhook-signature": signature = "" }: CapturedRequest["headers"],
  signatureBy: (secret: string) => string,
  secrets: readonly string[],
  nowMs: number,
): boolean {
  if (Math.abs(Math.floor(nowMs / 1_000) - Number(timestamp)) > toleranceSeconds) return false;
  return secrets.some((secret) => signature.split(" ").includes(signatureBy(secret)));
}

/** The signature of a request by each secret, computed once. */
function signer({ headers, body }: CapturedRequest): (secret: string) => string {
  const signatures = new Map<string, string>();
  const start = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`;
  return (secret) => {
    const signature = signatures.get(secret) ?? signBytes(secret, start, body);
    signatures.set(secret, signature);
    return signature;
  };
}

/** Replaces a signed U+FFFD by a byte that text decoding turns into U+FFFD again; flips a bit of any other body. */
function corrupt(body: Buffer, random: Random): Buffer {
  const at = body.indexOf("\uFFFD");
  const flipped = random.integer(0, Math.max(0, body.length - 1));
  if (at >= 0) return Buffer.concat([body.subarray(0, at), Buffer.from([0xff]), body.subarray(at + 3)]);
  const changed = Buffer.from(body);
  changed[flipped] = (changed[flipped] ?? 0) ^ 1;
  return changed;
}

function startTimeout(clock: SimulationWorld["clock"], afterMs: number) {
  let cancel = () => {};
  const expired = new Promise<never>((_, reject) => {
    cancel = clock.schedule(afterMs, () => reject(new Error(`no response within ${afterMs} ms`)));
  });
  expired.catch(() => {}); // the response may have been first
  return { expired, cancel: () => cancel() };
}
