import { Webhook } from "standardwebhooks";
import { createVerifier } from "workspace-tasks/receiver-kit";
import type { Goal, Measure } from "../finding.ts";
import { loadPeer } from "../peer.ts";
import { sampleBody, secret, signDelivery } from "../sample-delivery.ts";
import { alternate, type Contender, medianOf, ratioOf } from "../samples.ts";
import { atLeast, number, times } from "../words.ts";

type Verifiers = {
  createVerifiers(secret: string): readonly {
    readonly name: string;
    readonly verify: (body: Buffer, headers: Record<string, string>) => unknown;
  }[];
  stripeSignature(secret: string, timestamp: string, body: Buffer): string;
};
type Case = {
  readonly label: string;
  readonly bytes: number;
  readonly forged: boolean;
  readonly goal: number;
};

const cases: readonly Case[] = [
  { label: "1 KB", bytes: 1_024, forged: false, goal: 3 },
  { label: "8 KB", bytes: 8_192, forged: false, goal: 5 },
  { label: "64 KB", bytes: 65_536, forged: false, goal: 7 },
  { label: "1 MB", bytes: 1_048_576, forged: false, goal: 7 },
  { label: "8 KB, forged", bytes: 8_192, forged: true, goal: 4 },
];
const ours = "this kit";
const parsing = "this kit + JSON.parse";
const library = "standardwebhooks";

export const measure: Measure = async ({ quick }) => {
  const peers = await loadPeer<Verifiers>("verifiers");
  const rows: string[][] = [];
  const goals: Goal[] = [];
  const names = [ours, parsing, library, ...peers.createVerifiers(secret).map(({ name }) => name)];
  const others = names.filter((name) => name !== ours);
  for (const each of cases) {
    const contenders = contendersFor(each, peers);
    const samples = await alternate(contenders, { rounds: quick ? 3 : 21, roundMs: quick ? 10 : 60 });
    const isHere = (name: string) => contenders.some((contender) => contender.name === name);
    rows.push([
      each.label,
      ...names.map((name) => (isHere(name) ? number(medianOf(samples, name)) : "–")),
      ...others.map((name) => (isHere(name) ? times(ratioOf(samples, ours, name)) : "–")),
    ]);
    goals.push(
      atLeast(`${each.label}: standardwebhooks ÷ this kit`, each.goal, ratioOf(samples, ours, library)),
    );
  }
  return {
    title: "Verifying a delivery",
    about:
      "One call of `verify` with the body in memory, in µs of processor time, then how many times as much the others take. " +
      "standardwebhooks, svix and stripe also parse the body as JSON; the column with `JSON.parse` is this kit doing so too.",
    goals,
    tables: [
      {
        columns: [
          "body",
          ...names.map((name) => `${name}, µs`),
          ...others.map((name) => `${name} ÷ ${ours}`),
        ],
        rows,
      },
    ],
    notes: [
      "The whole difference is in the hash: this kit gives the bytes to the platform's HMAC, standardwebhooks (and svix, which wraps it) decodes them to text and hashes that in JavaScript.",
    ],
  };
};

function contendersFor({ bytes, forged }: Case, peers: Verifiers): readonly Contender[] {
  const body = sampleBody(bytes);
  const { headers } = signDelivery("msg_1", body);
  headers["stripe-signature"] = peers.stripeSignature(secret, headers["webhook-timestamp"] ?? "", body);
  if (forged) forge(headers);
  const verifier = createVerifier({ secrets: [secret] });
  const standard = new Webhook(secret);
  const verify = async () => (await verifier.verify(body, headers)).body;
  const parsed = async () => JSON.parse((await verify()).toString());
  return [
    { name: ours, run: repeat(verify, forged) },
    ...(forged ? [] : [{ name: parsing, run: repeat(parsed, forged) }]),
    { name: library, run: repeatSync(() => standard.verify(body, headers), forged) },
    ...peers.createVerifiers(secret).map(({ name, verify: verifyBy }) => ({
      name,
      run: repeatSync(() => verifyBy(body, headers), forged),
    })),
  ];
}

function forge(headers: Record<string, string>): void {
  headers["webhook-signature"] = `v1,${Buffer.alloc(32, 9).toString("base64")}`;
  headers["stripe-signature"] = (headers["stripe-signature"] ?? "").replace(/v1=.{8}/, "v1=00000000");
}

const repeat = (verify: () => Promise<unknown>, forged: boolean) => async (count: number) => {
  for (let done = 0; done < count; done++) {
    const refused = await verify().then(
      () => false,
      () => true,
    );
    if (refused !== forged) throw new Error(`expected the delivery to be ${forged ? "refused" : "accepted"}`);
  }
};

const repeatSync = (verify: () => unknown, forged: boolean) => (count: number) => {
  for (let done = 0; done < count; done++) {
    let refused = false;
    try {
      verify();
    } catch {
      refused = true;
    }
    if (refused !== forged) throw new Error(`expected the delivery to be ${forged ? "refused" : "accepted"}`);
  }
};
