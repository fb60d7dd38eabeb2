export { type DedupeWebhookOptions, dedupeWebhook } from "./middleware/dedupe-webhook.ts";
export { type OrderWebhookOptions, orderWebhook } from "./middleware/order-webhook.ts";
export type {
  ReceivedWebhook,
  WebhookMiddleware,
} from "./middleware/received-webhook.ts";
export { type VerifyWebhookOptions, verifyWebhook } from "./middleware/verify-webhook.ts";
export { type WebhookRequestHandler, webhookMiddleware } from "./middleware/webhook-middleware.ts";
