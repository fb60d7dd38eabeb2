import { createHmac } from "node:crypto";
import type { Chance } from "./chance.ts";
import { acceptTimeoutMs, type ReceiverProcess } from "./receiver-process.ts";
import { type Scene, type Store, source } from "./scene.ts";

export type DeliveryRoad = {
  /** Answers a request of the service, or of anybody else on the network. */
  deliver(request: Request): Promise<Response>;
  /** Ids that were answered with success. */
  readonly acknowledged: ReadonlySet<string>;
  /** Requests as they arrived, the latest ones, for those who send them again. */
  readonly captured: readonly CapturedRequest[];
};

export type CapturedRequest = { readonly headers: Record<string, string>; readonly body: Buffer };

export type RoadOptions = {
  readonly store: Store;
  /** The processes that accept connections now. */
  readonly processes: () => readonly ReceiverProcess[];
  readonly secrets: () => readonly string[];
};

const senderPatienceMs = 15_000;
// The body is there at once, so only storing takes time.
const answerMsMax = acceptTimeoutMs;
const toleranceSeconds = 300;
const capturedMax = 20;

/** The way from the sender to one of the receiver processes, with what a network does on it. */
export function createDeliveryRoad(scene: Scene, options: RoadOptions): DeliveryRoad {
  const { judge, trace, clock, crashes } = scene;
  const chance = scene.chance.stream("road");
  const acknowledged = new Set<string>();
  const captured: CapturedRequest[] = [];
  const underWay = new Map<string, ReceiverProcess>();

  async function deliver(request: Request): Promise<Response> {
    const headers = Object.fromEntries(request.headers);
    const sent = Buffer.from(await request.arrayBuffer());
    const body = scene.troubled("bytesChanged", chance) ? changeBytes(sent, chance) : sent;
    const id = headers["webhook-id"] ?? "";
    const name = trace.nameOf("delivery", id);
    const process = pickProcess(options.processes(), chance);
    if (!process) {
      trace.note(`${name}: nobody listens`);
      throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    }
    captured.push({ headers, body });
    if (captured.length > capturedMax) captured.shift();
    const judgeNow = () => isGenuine({ headers, body }, options.secrets(), clock.now());
    const genuine = judgeNow();
    if (underWay.has(id) && underWay.get(id) !== process) crashes.C10 += 1;
    underWay.set(id, process);
    const response = await answerOf(process, request.url, headers, body);
    underWay.delete(id);
    trace.note(`${name} to ${process.life.name}${genuine ? "" : " (not genuine)"}: ${response.status}`);
    // While it was on its way, a secret may have been retired or the delivery have become too old.
    if (judgeNow() === genuine) judgeStatus(name, genuine, response.status);
    if (response.ok) await judgeAcknowledgement(id, name);
    if (scene.troubled("answerLost", chance)) throw new Error("the answer was lost");
    await Promise.race([process.life.mayDieAt("C4"), process.life.death]).catch(() => {});
    return response;
  }

  async function answerOf(
    { life, receiver }: ReceiverProcess,
    url: string,
    headers: Record<string, string>,
    body: Buffer,
  ): Promise<Response> {
    const startedMs = clock.monotonic();
    const { stalls, state } = life;
    const answer = async () => {
      await life.mayDieAt("C0");
      const request = new Request(url, { method: "POST", headers, body: new Uint8Array(body) });
      const response = await receiver.fetch(request);
      await life.pass();
      return response;
    };
    const patience = limit(clock, senderPatienceMs);
    try {
      return await Promise.race([answer(), life.death, patience.over]);
    } finally {
      patience.cancel();
      const tookMs = clock.monotonic() - startedMs;
      const isAwake = state === "alive" && life.state === "alive" && life.stalls === stalls;
      judge.expect(
        !isAwake || tookMs <= answerMsMax,
        "W1",
        () => `a delivery was answered after ${tookMs} ms`,
      );
    }
  }

  function judgeStatus(name: string, genuine: boolean, status: number): void {
    // Without any secret the receiver cannot tell, and says 503.
    const refused = options.secrets().length > 0 ? [400, 401] : [400, 401, 503];
    const allowed = genuine ? [200, 429, 503] : refused;
    const kind = genuine ? "genuine" : "not genuine";
    judge.expect(allowed.includes(status), "I6", () => `${name}, which is ${kind}, was answered ${status}`);
  }

  async function judgeAcknowledgement(id: string, name: string): Promise<void> {
    const row = await options.store.get({ source, id });
    judge.expect(row !== undefined, "I1", () => `${name} was acknowledged and is not in the inbox`);
    acknowledged.add(id);
  }

  return { deliver, acknowledged, captured };
}

function pickProcess(processes: readonly ReceiverProcess[], chance: Chance): ReceiverProcess | undefined {
  const draw = chance.number();
  return processes[Math.floor(draw * processes.length)];
}

/** What a verifier must find, worked out here by other means. */
export function isGenuine(
  { headers, body }: CapturedRequest,
  secrets: readonly string[],
  nowMs: number,
): boolean {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature = "" } = headers;
  if (Math.abs(Math.floor(nowMs / 1_000) - Number(timestamp)) > toleranceSeconds) return false;
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  return secrets.some((secret) => signature.split(" ").includes(sign(secret, content)));
}

export function sign(secret: string, content: Uint8Array): string {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
}

/** A signed U+FFFD becomes a byte that text decoding turns into it again; elsewhere one bit changes. */
function changeBytes(body: Buffer, chance: Chance): Buffer {
  const at = body.indexOf("\uFFFD");
  const draw = chance.integer(0, Math.max(0, body.length - 1));
  if (at >= 0) return Buffer.concat([body.subarray(0, at), Buffer.from([0xff]), body.subarray(at + 3)]);
  const changed = Buffer.from(body);
  changed[draw] = (changed[draw] ?? 0) ^ 1;
  return changed;
}

function limit(clock: Scene["clock"], afterMs: number) {
  let cancel = () => {};
  const over = new Promise<never>((_, reject) => {
    cancel = clock.schedule(afterMs, () => reject(new Error(`no answer within ${afterMs} ms`)));
  });
  over.catch(() => {}); // the answer may have come first
  return { over, cancel: () => cancel() };
}
