import { createHmac } from "node:crypto";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";

interface Delivery {
  readonly body: Buffer;
  readonly headers: Record<string, string>;
  readonly secret: string;
  readonly forged: boolean;
}

/** svix verifies the same delivery; Stripe's library its own header over the same body. */
export function createVerify(name: string, { body, headers, secret, forged }: Delivery): () => unknown {
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
}
