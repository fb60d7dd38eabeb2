// Names of hosts, as URLs have them and as people write them.

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

/** The host of a `Host` header, without its port, in lower case and without brackets; `null` for text that is no host. */
export function hostWithoutPort(host: string): string | null {
  const [, address, name] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d+)?$/i.exec(host) ?? [];
  return (address ?? name)?.toLowerCase() ?? null;
}

/** Whether a host name is this computer, whose traffic others cannot read: `localhost`, its subdomains, 127.0.0.0/8, `::1`. */
export function isLoopbackHost(host: string): boolean {
  const name = withoutBrackets(host.toLowerCase());
  return /^(?:localhost|.+\.localhost|127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}|::1)$/.test(name);
}
