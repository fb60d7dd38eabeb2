import { createHmac } from "node:crypto";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";

type Verify = (body: Buffer, headers: Record<string, string>) => unknown;
type Peer = { readonly name: string; readonly verify: Verify };

/** Libraries that verify the same delivery, and Stripe's, which gets its own header over the same body. */
export function createVerifiers(secret: string): readonly Peer[] {
  const svix = new SvixWebhook(secret);
  return [
    { name: "svix", verify: (body, headers) => svix.verify(body, headers) },
    {
      name: "stripe",
      verify: (body, headers) =>
        Stripe.webhooks.constructEvent(body, headers["stripe-signature"] ?? "", secret),
    },
  ];
}

export function stripeSignature(secret: string, timestamp: string, body: Buffer): string {
  const signature = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
  return `t=${timestamp},v1=${signature}`;
}
