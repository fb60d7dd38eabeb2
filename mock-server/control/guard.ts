import { MockServerError } from "../errors.ts";
import { isLoopbackHost } from "../rules/loopback.ts";

// A web page that a developer happens to visit can send requests to loopback addresses, and by DNS
// rebinding can even read the answers. So the control API answers only to names that mean this computer
// and to pages that came from itself.

/** Refuses a request whose `Host` or `Origin` is foreign. */
export function guardControl(request: Request, hostsAllowed: readonly string[]): void {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  if (!isOwnHost(host, hostsAllowed)) {
    throw new MockServerError(
      "FOREIGN_HOST",
      "the control API answers to loopback names only; allow others with hostsAllowed",
    );
  }
  const origin = request.headers.get("origin");
  if (origin !== null && origin !== `http://${host}` && origin !== `https://${host}`) {
    throw new MockServerError("FOREIGN_ORIGIN", "the control API does not answer to pages of another origin");
  }
  const site = request.headers.get("sec-fetch-site");
  if (site === "cross-site" || site === "same-site") {
    throw new MockServerError("FOREIGN_ORIGIN", "the control API does not answer to pages of another origin");
  }
}

function isOwnHost(host: string, hostsAllowed: readonly string[]): boolean {
  const name = hostName(host);
  return isLoopbackHost(name) || hostsAllowed.includes(name);
}

/** The host without its port, in lower case and without brackets. */
function hostName(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(host);
  return (bracketed?.[1] ?? host.replace(/:\d+$/, "")).toLowerCase();
}
