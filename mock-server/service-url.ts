import { isLoopbackHost } from "./loopback.ts";

/**
 * Whether a text is a complete HTTP URL as it stands. `new URL` repairs white space, line breaks, backslashes and missing
 * slashes; a stricter service rejects them. User info is rejected too: it is a secret that lists and journals would show.
 */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}\\/?#@]+(?:[/?#][^\s\p{Cc}\\]*)?$/iu.test(text) && URL.canParse(text);
}

/** Whether the service delivers to this URL: HTTPS, or plain HTTP to this computer. */
export function isReceiverUrl(text: string, { allowLoopbackHttp = true } = {}): boolean {
  if (!isHttpUrl(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || (allowLoopbackHttp && isLoopbackHost(hostname));
}
