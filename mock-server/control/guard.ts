// A web page that a developer visits can send requests to loopback addresses, and by DNS rebinding it can even read
// the responses. So the control API serves only requests under a name of this computer, and only pages of its own.

import { MockServerError } from "../errors.ts";
import { isLoopbackHost } from "../rules/loopback.ts";

/** Rejects a request whose `Host` or `Origin` is foreign. */
export function guardControl(request: Request, hostsAllowed: readonly string[]): void {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  const name = hostName(host);
  if (!isLoopbackHost(name) && !hostsAllowed.includes(name)) {
    throw new MockServerError(
      "FOREIGN_HOST",
      "the control API is served under loopback names only; allow others with hostsAllowed",
    );
  }
  const origin = request.headers.get("origin");
  const isForeignOrigin = origin !== null && origin !== `http://${host}` && origin !== `https://${host}`;
  const site = request.headers.get("sec-fetch-site");
  if (isForeignOrigin || site === "cross-site" || site === "same-site") {
    throw new MockServerError("FOREIGN_ORIGIN", "the control API is not served to pages of another origin");
  }
}

/** The host without its port, in lower case and without brackets. */
function hostName(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(host);
  return (bracketed?.[1] ?? host.replace(/:\d+$/, "")).toLowerCase();
}
