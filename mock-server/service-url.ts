import { isLoopbackHost } from "./loopback.ts";

/**
 * Whether a text is a complete HTTP URL as it stands. `new URL` repairs white space, line breaks, backslashes and missing
 * slashes; a stricter service rejects them. User info is rejected too: it is a secret that lists and journals would show.
 */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}\\/?#@]+(?:[/?#][^\s\p{Cc}\\]*)?$/iu.test(text) && URL.canParse(text);
}

export const isHostName = (text: string) => /^[a-z0-9._-]+$|^[0-9a-f:.]+$/i.test(text);

export interface PlainHttpRules {
  readonly allowLoopbackHttp: boolean;
  readonly httpHostsAllowed: readonly string[];
}

/** Whether the service delivers to this URL: HTTPS, or plain HTTP to this computer and to hosts that are allowed. */
export function isReceiverUrl(
  text: string,
  { allowLoopbackHttp, httpHostsAllowed }: PlainHttpRules,
): boolean {
  if (!isHttpUrl(text)) return false;
  const { protocol, hostname } = new URL(text);
  if (protocol === "https:" || (allowLoopbackHttp && isLoopbackHost(hostname))) return true;
  const name = hostname.replace(/^\[(.*)\]$/, "$1");
  return httpHostsAllowed.some((host) => host.toLowerCase() === name);
}
