import { createVerifier } from "@workspace-tasks/receiver-kit";
import { Webhook } from "standardwebhooks";
import type { CreateContender } from "../alternate.ts";
import { type SignedDelivery, sampleBody, secret, signDelivery } from "../sample-delivery.ts";

type CreateVerify = (delivery: SignedDelivery) => () => unknown;

const verifier = createVerifier({ secrets: [secret] });
const standard = new Webhook(secret);
const contenders: Readonly<Record<string, CreateVerify>> = {
  "this kit":
    ({ body, headers }) =>
    () =>
      verifier.verify(body, headers),
  "this kit + JSON.parse":
    ({ body, headers }) =>
    async () =>
      JSON.parse((await verifier.verify(body, headers)).body.toString()),
  standardwebhooks:
    ({ body, headers }) =>
    () =>
      standard.verify(body, headers),
};

/** @param argument the body's length in bytes, followed by `forged` for a delivery that must be rejected */
export const createContender: CreateContender = (name, argument) => {
  const [bytes, kind] = argument.split(" ");
  const forged = kind === "forged";
  const delivery = signDelivery("msg_1", sampleBody(Number(bytes)));
  if (forged) delivery.headers["webhook-signature"] = `v1,${Buffer.alloc(32, 9).toString("base64")}`;
  const verify = contenders[name]?.(delivery);
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
