/** A signing secret: the prefix of Standard Webhooks, then base64. */
export const secretForm = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
