import { isLoopbackHost, normaliseHost, withoutBrackets } from "@workspace-tasks/kernel/host.ts";

/**
 * Whether a text is a complete HTTP URL as it stands. `new URL` repairs white space, line breaks, backslashes and missing
 * slashes; a stricter service rejects them. User info is rejected too: it is a secret that lists and journals would show.
 */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}\\/?#@]+(?:[/?#][^\s\p{Cc}\\]*)?$/iu.test(text) && URL.canParse(text);
}

export interface PlainHttpRules {
  readonly allowLoopbackHttp: boolean;
  readonly httpHostsAllowed: readonly string[];
}

/** Whether an endpoint may have this URL: HTTPS, or plain HTTP to this computer and to hosts that are allowed. */
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
