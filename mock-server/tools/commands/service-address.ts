// Where a service is, and the keys for it, as flags and the environment have them.

import { CommandError, type CommandIo, flag } from "@workspace-tasks/kernel/cli/command-line.ts";
import { isLoopbackHost } from "@workspace-tasks/kernel/host.ts";

export const addressFlag = (about: string) =>
  flag("<url>", about, {
    parse: parseAddress,
    expected: "an https URL, or an http URL of this computer, without a user name, a query and a fragment",
    show: withoutSecrets,
  });

/** The address in a variable of the environment; `undefined` without one. @throws UsageError for what is none */
export const addressIn = (variable: string, { env }: CommandIo): string | undefined =>
  addressFlag("").parse(variable, [env[variable] || []].flat());

/** Keys are not sent in plain text over a network. `/graphql` at the end is what is added anyway. */
function parseAddress(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, origin, pathname, username, password, search, hash } = new URL(text);
  const isSafe = protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
  if (!isSafe || username + password + search + hash !== "") return undefined;
  return origin + pathname.replace(/\/+(graphql\/*)?$/, "");
}

/** An address may hold a password, or a key in its query. */
export const withoutSecrets = (text: string): string =>
  text.replace(/\/\/[^/]*@/, "//…@").replace(/([?#]).*/s, "$1…");

/** @param name where the key is from. @throws CommandError for text that no header can have */
export function checkKey(name: string, key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new CommandError(`${name}: expected one key, got text with spaces or other characters`);
}
