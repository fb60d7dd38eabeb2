import { isIPv4 } from "node:net";

/** Whether a host name is this computer: `localhost`, its subdomains, 127.0.0.0/8, `::1`. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  if (name === "localhost" || name.endsWith(".localhost") || name === "::1") return true;
  return isIPv4(name) && name.startsWith("127.");
}
