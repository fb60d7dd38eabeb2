import { events, knownEventNames, payloadVersion } from "./catalog.ts";
import { exampleEvent } from "./example-event.ts";
import type { JsonSchema } from "./payload-schema.ts";

const header = (description: string) => ({ type: "string", description });

const deliveryHeaders: JsonSchema = {
  type: "object",
  required: ["webhook-id", "webhook-timestamp", "webhook-signature"],
  properties: {
    "webhook-id": header("The same for all attempts of a delivery."),
    "webhook-timestamp": header("Unix time of the attempt in seconds."),
    "webhook-signature": header(
      "`v1,` and the HMAC-SHA256 of `id.timestamp.body` in Base64; one for each active secret, separated by spaces.",
    ),
  },
};

/**
 * What the service delivers, as an AsyncAPI 3.0 document. It refers to the JSON Schema of each payload as a file below
 * `schemas/`.
 *
 * @see interface §6
 */
export function createAsyncapiDocument(): JsonSchema {
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Webhook events of the Workspace Task and Integration Service",
      version: payloadVersion,
      description: "Delivered at least once, late and in any order, signed as Standard Webhooks says.",
    },
    defaultContentType: "application/json",
    channels: {
      webhooks: {
        address: null,
        description: "The URL of a webhook endpoint.",
        messages: Object.fromEntries(
          knownEventNames.map((name) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
      },
    },
    operations: {
      receiveEvent: {
        action: "receive",
        channel: { $ref: "#/channels/webhooks" },
        bindings: { http: { method: "POST", bindingVersion: "0.3.0" } },
      },
    },
    components: {
      messages: Object.fromEntries(
        knownEventNames.map((name) => [
          name,
          {
            name,
            summary: events[name].description,
            headers: { $ref: "#/components/schemas/deliveryHeaders" },
            payload: { $ref: `./schemas/${name}.json` },
            examples: [{ payload: exampleEvent(name) }],
          },
        ]),
      ),
      schemas: { deliveryHeaders },
    },
  };
}
