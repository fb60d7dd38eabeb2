import { isLoopbackHost } from "./loopback.ts";

/**
 * Whether a text is a complete HTTP URL as it stands. `new URL` repairs white space, line breaks, backslashes and missing
 * slashes; a stricter service rejects them. User info is rejected too: it is a secret that lists and journals would show.
 */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}\\/?#@]+(?:[/?#][^\s\p{Cc}\\]*)?$/iu.test(text) && URL.canParse(text);
}

/**
 * A host name as `new URL` has it, in lower case, or an IPv6 address in its short form, without brackets. Brackets of the
 * text are optional: URLs have them, shells interpret them. `null` for a text that is no host name.
 */
export function normaliseHost(text: string): string | null {
  if (!/^(?:[a-z0-9._-]+|[0-9a-f:.]+|\[[0-9a-f:.]+\])$/i.test(text)) return null;
  const url = `http://${/^[^[].*:/.test(text) ? `[${text}]` : text}`;
  return URL.canParse(url) ? withoutBrackets(new URL(url).hostname) : null;
}

export const isHostName = (text: string) => normaliseHost(text) !== null;

/** The `hostname` of a URL without the brackets of an IPv6 address. */
export const withoutBrackets = (hostname: string) => hostname.replace(/^\[(.*)\]$/, "$1");

export interface PlainHttpRules {
  readonly allowLoopbackHttp: boolean;
  readonly httpHostsAllowed: readonly string[];
}

/** Whether an endpoint may have this URL: HTTPS, or plain HTTP to this computer (A-6) and to hosts that are allowed. */
export const isReceiverUrl = (text: string, rules: PlainHttpRules): boolean =>
  isHttpUrl(text) && isDeliverable(new URL(text), rules);

/** As `isReceiverUrl`, of a URL that an endpoint has had under these rules or others. */
export function isDeliverable(
  { protocol, hostname }: Pick<URL, "protocol" | "hostname">,
  { allowLoopbackHttp, httpHostsAllowed }: PlainHttpRules,
): boolean {
  if (protocol === "https:" || (allowLoopbackHttp && isLoopbackHost(hostname))) return true;
  const name = withoutBrackets(hostname);
  return httpHostsAllowed.some((host) => normaliseHost(host) === name);
}
