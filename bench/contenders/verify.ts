import { Webhook } from "standardwebhooks";
import { createVerifier } from "workspace-tasks/receiver-kit";
import type { Contender } from "../contender.ts";
import { loadPeer } from "../peer.ts";
import { sampleBody, secret, signDelivery } from "../sample-delivery.ts";

type Verifiers = {
  createVerifiers(secret: string): readonly {
    readonly name: string;
    readonly verify: (body: Buffer, headers: Record<string, string>) => unknown;
  }[];
  stripeSignature(secret: string, timestamp: string, body: Buffer): string;
};

/** @param argument the body's length in bytes, and `forged` behind it for a delivery that has to be refused */
export async function contenders(argument: string): Promise<readonly Contender[]> {
  const [bytes, kind] = argument.split(" ");
  const forged = kind === "forged";
  const peers = await loadPeer<Verifiers>("verifiers");
  const body = sampleBody(Number(bytes));
  const { headers } = signDelivery("msg_1", body);
  headers["stripe-signature"] = peers.stripeSignature(secret, headers["webhook-timestamp"] ?? "", body);
  if (forged) forge(headers);
  const verifier = createVerifier({ secrets: [secret] });
  const standard = new Webhook(secret);
  const verify = async () => (await verifier.verify(body, headers)).body;
  const parsed = async () => JSON.parse((await verify()).toString());
  return [
    { name: "this kit", run: repeat(verify, forged) },
    { name: "this kit + JSON.parse", run: repeat(parsed, forged) },
    { name: "standardwebhooks", run: repeatSync(() => standard.verify(body, headers), forged) },
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
