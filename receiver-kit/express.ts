export type {
  ReceivedWebhook,
  WebhookMiddleware,
} from "./middleware.ts";
export {
  type DedupeWebhookOptions,
  dedupeWebhook,
  type OrderWebhookOptions,
  orderWebhook,
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookRequestHandler,
  webhookMiddleware,
} from "./middleware.ts";
