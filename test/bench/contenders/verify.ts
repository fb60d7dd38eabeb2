import { createVerifier } from "@workspace-tasks/receiver-kit";
import { Webhook } from "standardwebhooks";
import type { CreateContender } from "../alternate.ts";
import { loadPeer } from "../load-peer.ts";
import { type SignedDelivery, sampleBody, secret, signDelivery } from "../sample-delivery.ts";

type Verify = () => unknown;
export type CreatePeerVerify = (name: string, delivery: SignedDelivery, forged: boolean) => Verify;

/**
 * @param argument the body's length in bytes, followed by `forged` for a delivery that must be rejected, or by `alone`
 * for a process without the peers, which may not be installed
 */
export const createContender: CreateContender = async (name, argument) => {
  const [bytes, kind] = argument.split(" ");
  const forged = kind === "forged";
  const delivery = signDelivery("msg_1", sampleBody(Number(bytes)));
  if (forged) delivery.headers["webhook-signature"] = `v1,${Buffer.alloc(32, 9).toString("base64")}`;
  const { createPeerVerify } =
    kind === "alone" ? {} : await loadPeer<{ createPeerVerify?: CreatePeerVerify }>("verifiers");
  const verify = createVerify(name, delivery) ?? createPeerVerify?.(name, delivery, forged);
  if (!verify) throw new Error(`there is no contender ${name}`);
  return async (count) => {
    for (let done = 0; done < count; done++) {
      let rejected = false;
      try {
        const verified = verify();
        if (verified instanceof Promise) await verified;
      } catch {
        rejected = true;
      }
      if (rejected !== forged)
        throw new Error(`expected the delivery to be ${forged ? "rejected" : "accepted"}`);
    }
  };
};

function createVerify(name: string, { body, headers }: SignedDelivery): Verify | undefined {
  const verifier = createVerifier({ secrets: [secret] });
  const standard = new Webhook(secret);
  switch (name) {
    case "this kit":
      return () => verifier.verify(body, headers);
    case "this kit + JSON.parse":
      return async () => JSON.parse((await verifier.verify(body, headers)).body.toString());
    case "standardwebhooks":
      return () => standard.verify(body, headers);
    default:
      return undefined;
  }
}
