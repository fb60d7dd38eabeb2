// A web page that a developer visits can send requests to loopback addresses. By DNS rebinding its own host name
// resolves to one, and then it could read the responses too. So a listening socket serves requests under the names of
// this computer only, and only pages of its own, on every path. Requests of programs carry neither `Origin` nor
// `Sec-Fetch-Site`; a page can change neither of them, nor `Host`.

import type { IncomingMessage } from "node:http";
import { isLoopbackHost, normaliseHost } from "@workspace-tasks/kernel/host.ts";
import { MockServerError } from "../errors.ts";

export interface RequestGuardOptions {
  /** The address that the mock was told to listen on. */
  readonly host: string;
  /** Host names besides the loopback ones. */
  readonly hostsAllowed: readonly string[];
  /** Origins of pages besides the mock's own. */
  readonly originsAllowed: readonly string[];
}

export interface RequestGuard {
  /** Why the request is not served, if it is not. */
  rejectionOf(request: IncomingMessage): MockServerError | null;
  /** The `Origin` of an allowed page that is not the mock's own, if the request has one. */
  allowedOrigin(request: IncomingMessage): string | null;
}

export function createRequestGuard(options: RequestGuardOptions): RequestGuard {
  const hosts = new Set([options.host, ...options.hostsAllowed].map((name) => normaliseHost(name)));
  const origins = new Set(options.originsAllowed);

  const allowedOrigin = ({ headers: { origin } }: IncomingMessage) =>
    origin !== undefined && origins.has(origin) ? origin : null;

  return {
    allowedOrigin,
    rejectionOf(request) {
      const { host = "", origin, "sec-fetch-site": site } = request.headers;
      const name = hostName(host);
      if (name === null || !(isLoopbackHost(name) || hosts.has(name) || isAddressOf(request, name))) {
        const shown = JSON.stringify(host.slice(0, 100));
        return new MockServerError(
          "FOREIGN_HOST",
          `the mock is not served under the Host ${shown}; allow the name with --allow-host or hostsAllowed`,
        );
      }
      if (allowedOrigin(request) !== null) return null;
      const isForeign = origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;
      const isForeignSite = site !== undefined && site !== "none" && site !== "same-origin";
      if (!isForeign && !(isForeignSite && !opensInspector(request))) return null;
      return new MockServerError(
        "FOREIGN_ORIGIN",
        "the mock is not served to pages of another origin; allow one with --allow-origin or originsAllowed",
      );
    },
  };
}

/** The host without its port, in lower case and without brackets; `null` for text that is no host. */
function hostName(host: string): string | null {
  const [, address, name] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d+)?$/i.exec(host) ?? [];
  return (address ?? name)?.toLowerCase() ?? null;
}

/** A page cannot make an address resolve to another one, so the address of the connection itself is no risk. */
const isAddressOf = ({ socket }: IncomingMessage, name: string) =>
  socket.localAddress?.replace(/^::ffff:/, "") === name;

/** A link on another site may open the inspector, or `/`, which leads there: its page is a constant and contains no data. */
const opensInspector = ({ method, url, headers }: IncomingMessage) =>
  method === "GET" &&
  /^(?:\/w\/[^/]+)?\/(?:_mock\/?)?$/.test(url ?? "") &&
  headers["sec-fetch-dest"] === "document";
