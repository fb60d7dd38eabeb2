import { isLoopbackHost } from "@workspace-tasks/kernel/host.ts";

export const addressExpected =
  "an https URL, or an http URL of this computer, without a user name, a query and a fragment";

/** Keys are not sent in plain text over a network. `/graphql` at the end is what is added anyway. */
export function parseAddress(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, origin, pathname, username, password, search, hash } = new URL(text);
  const isSafe = protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
  if (!isSafe || username + password + search + hash !== "") return undefined;
  return origin + pathname.replace(/\/+(graphql\/*)?$/, "");
}

/** An address may hold a password, or a key in its query. */
export const withoutSecrets = (text: string): string =>
  text.replace(/\/\/[^/]*@/, "//…@").replace(/([?#]).*/s, "$1…");
