// Before the first rule: is there a service, is it this one, and does it take the keys? Each cause has a text of its own.

import { connectHints } from "../connection-errors.ts";
import { addressCodes, SendError } from "./ask/send.ts";
import { keyVariables, type Service, type ServiceResponse } from "./ask/service.ts";

/** Why nothing can be compared. */
export interface Problem {
  readonly cause: "address" | "network" | "not-this-service" | "key" | "rate-limit" | "stopped";
  readonly message: string;
  readonly expected: string;
  readonly received: string;
  readonly hint: string;
}

interface Place {
  readonly flag: "--base-url" | "--gateway-url";
  readonly url: string;
  readonly router: "base" | "gateway";
}

/** What makes a comparison impossible; `null` when nothing does. */
export async function preflight(service: Service): Promise<Problem | null> {
  const { baseUrl, gatewayUrl } = service.access;
  const base: Place = { flag: "--base-url", url: baseUrl, router: "base" };
  const gateway: Place | null =
    gatewayUrl === null ? null : { flag: "--gateway-url", url: gatewayUrl, router: "gateway" };
  for (const place of [base, gateway]) {
    const problem = place && (await checkPlace(place, service));
    if (problem) return problem;
  }
  for (const name of ["admin", "readOnly", "partner"] as const) {
    const place = name === "partner" ? gateway : base;
    // A token that is issued is used by the run.
    const problem =
      place && service.has(name) ? await service.token(name).then(() => null, problemOf(place, name)) : null;
    if (problem) return problem;
  }
  return null;
}

const checkPlace = (place: Place, service: Service): Promise<Problem | null> =>
  service
    .graphql("{ __typename }", {}, { token: "none", router: place.router, isNew: true })
    .then((response) => problemOfResponse(place, response), problemOf(place));

const graphqlExpected = "a GraphQL response to { __typename }";
const anotherService = "Another service listens there: correct the address.";

function problemOfResponse(
  { flag, url }: Place,
  { status, contentType, text, body }: ServiceResponse,
): Problem | null {
  if (body === "graphql") return null;
  const isHtml = /^\s*</.test(text);
  const type = contentType === "none" ? "no content type" : contentType;
  return {
    cause: "not-this-service",
    message: `${flag}: ${url}/graphql is not the service`,
    expected: graphqlExpected,
    received: `HTTP ${status}, ${isHtml ? "an HTML page" : text === "" ? "an empty body" : type}`,
    hint: hintForStatus(flag, status, isHtml),
  };
}

function hintForStatus(flag: string, status: number, isHtml: boolean): string {
  if (status >= 300 && status < 400) return "It redirects elsewhere: pass the address that it redirects to.";
  if (status === 404 || status === 405)
    return `Nothing takes GraphQL at that path: ${flag} is the address to which /graphql is added.`;
  if (status === 401 || status === 403 || status === 407)
    return "Something in front of the service wants a login: a proxy, a VPN, or a list of allowed addresses.";
  if (isHtml) return "This looks like a web page: the API has another address than the web app.";
  return anotherService;
}

const networkHint = "Check the address, the network, the VPN, and firewalls and proxies in between.";

const problemOf =
  ({ flag, url }: Place, key: "admin" | "readOnly" | "partner" = "admin") =>
  (error: unknown): Problem => {
    if (!(error instanceof SendError)) throw error;
    const { kind, code, message } = error;
    const common = { expected: graphqlExpected, received: message };
    const notThisService = `${flag}: ${url}/graphql is not the service`;
    if (kind === "no-token") return problemOfKey(key, { flag, url }, error.said);
    if (kind === "stopped")
      return { ...common, cause: "stopped", message: "stopped before the first rule", hint: "" };
    if (kind === "rate-limited") {
      const hint =
        "The rate limit of the key, or of this computer's address, is used up: wait, or stop what uses it.";
      return { ...common, cause: "rate-limit", message: `${flag}: the rate limit is exceeded`, hint };
    }
    if (kind === "too-large")
      return { ...common, cause: "not-this-service", message: notThisService, hint: anotherService };
    return {
      ...common,
      cause: addressCodes.has(code ?? "") ? "address" : "network",
      message: `${flag}: could not reach ${url}`,
      hint: connectHints[code ?? ""] ?? networkHint,
    };
  };

function problemOfKey(
  name: "admin" | "readOnly" | "partner",
  { flag, url }: Pick<Place, "flag" | "url">,
  said: string | null,
): Problem {
  const isPartner = name === "partner";
  const received = said === null ? "no token" : `the error "${said}"`;
  const expected = `tokens from ${isPartner ? "loginViaPersonalApiToken" : "exchangeSurfaceRefreshTokenForAccessTokens"}`;
  if (/cannot query field|unknown argument|unknown type/i.test(said ?? ""))
    return {
      cause: "not-this-service",
      message: `${flag}: ${url}/graphql is another GraphQL service, or ${isPartner ? "not the gateway" : "the gateway"}`,
      expected,
      received,
      hint: "Correct the address; --base-url and --gateway-url are two different ones.",
    };
  return {
    cause: "key",
    message: `${keyVariables[name]}: the service rejects the key`,
    expected,
    received,
    hint: `It may be wrong, revoked, expired, or of another environment than ${url}. Keys are created in the web app.`,
  };
}
