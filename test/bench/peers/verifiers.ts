import { createHmac } from "node:crypto";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";
import type { CreatePeerVerify } from "../contenders/verify.ts";
import { secret } from "../sample-delivery.ts";

/** svix verifies the same delivery; Stripe's library its own header over the same body. */
export const createPeerVerify: CreatePeerVerify = (name, { body, headers }, forged) => {
  if (name === "svix") {
    const svix = new SvixWebhook(secret);
    return () => svix.verify(body, headers);
  }
  const timestamp = headers["webhook-timestamp"];
  const signature = createHmac("sha256", forged ? "another secret" : secret)
    .update(`${timestamp}.`)
    .update(body)
    .digest("hex");
  const header = `t=${timestamp},v1=${signature}`;
  return () => Stripe.webhooks.constructEvent(body, header, secret);
};
