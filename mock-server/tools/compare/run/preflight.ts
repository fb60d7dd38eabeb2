// Before the first probe: is there a service, is it this one, and does it take the keys? Each cause has a text of its own.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { connectHints } from "../../connection-errors.ts";
import type { RawResponse } from "../observe/observe-response.ts";
import { keyVariables } from "../rules/probe.ts";
import { addressCodes, graphqlRequest, SendError, type Sender } from "./send-request.ts";
import { type Access, NoTokenError, type Session } from "./session.ts";

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
}

type CheckedKey = "admin" | "readOnly" | "partner";

/** What makes a comparison impossible; `null` when nothing does. */
export async function preflight(
  { baseUrl, gatewayUrl, keys }: Access,
  sender: Sender,
  session: Session,
): Promise<Problem | null> {
  const base: Place = { flag: "--base-url", url: baseUrl };
  const gateway: Place | null = gatewayUrl === null ? null : { flag: "--gateway-url", url: gatewayUrl };
  const placeOf = { admin: base, readOnly: base, partner: gateway };
  for (const place of [base, gateway]) {
    const problem = place && (await checkPlace(place, sender));
    if (problem) return problem;
  }
  for (const name of ["admin", "readOnly", "partner"] as const) {
    const place = placeOf[name];
    const problem = place && keys[name] !== undefined ? await checkKey(name, place, session) : null;
    if (problem) return problem;
  }
  return null;
}

async function checkPlace(place: Place, sender: Sender): Promise<Problem | null> {
  try {
    const response = await sender.send(graphqlRequest(place.url, { query: "{ __typename }" }));
    return problemOfResponse(place, response);
  } catch (error) {
    if (error instanceof SendError) return problemOfError(place, error);
    throw error;
  }
}

const graphqlExpected = "a GraphQL response to { __typename }";

function problemOfResponse(
  { flag, url }: Place,
  { status, headers, text, json }: RawResponse,
): Problem | null {
  if (isPlainObject(json) && ("data" in json || Array.isArray(json["errors"]))) return null;
  const type = /^[a-z]+\/[a-z0-9.+-]+/i.exec(headers.get("content-type") ?? "")?.[0] ?? "no content type";
  const isHtml = /^\s*</.test(text);
  const received = `HTTP ${status}, ${isHtml ? "an HTML page" : text === "" ? "an empty body" : type}`;
  return {
    cause: "not-this-service",
    message: `${flag}: ${url}/graphql is not the service`,
    expected: graphqlExpected,
    received,
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

const anotherService = "Another service listens there: correct the address.";

const networkHint = "Check the address, the network, the VPN, and firewalls and proxies in between.";

function problemOfError({ flag, url }: Place, { kind, code, message }: SendError): Problem {
  const common = { expected: graphqlExpected, received: message };
  if (kind === "stopped")
    return { ...common, cause: "stopped", message: "stopped before the first probe", hint: "" };
  if (kind === "rate-limited") {
    const hint =
      "The rate limit of the key, or of this computer's address, is used up: wait, or stop what uses it.";
    return { ...common, cause: "rate-limit", message: `${flag}: the rate limit is exceeded`, hint };
  }
  const notThisService = `${flag}: ${url}/graphql is not the service`;
  if (kind === "too-large")
    return { ...common, cause: "not-this-service", message: notThisService, hint: anotherService };
  return {
    ...common,
    cause: addressCodes.has(code ?? "") ? "address" : "network",
    message: `${flag}: could not reach ${url}`,
    hint: connectHints[code ?? ""] ?? networkHint,
  };
}

/** A token that is issued is used by the run. */
async function checkKey(name: CheckedKey, { flag, url }: Place, session: Session): Promise<Problem | null> {
  try {
    await session.token(name);
    return null;
  } catch (error) {
    if (error instanceof NoTokenError) return problemOfKey(name, { flag, url }, error.said);
    if (error instanceof SendError) return problemOfError({ flag, url }, error);
    throw error;
  }
}

function problemOfKey(name: CheckedKey, { flag, url }: Place, said: string | null): Problem {
  const isPartner = name === "partner";
  const received = said === null ? "no token" : `the error "${said}"`;
  const expected = `tokens from ${isPartner ? "loginViaPersonalApiToken" : "exchangeSurfaceRefreshTokenForAccessTokens"}`;
  if (/cannot query field|unknown argument|unknown type/i.test(said ?? "")) {
    return {
      cause: "not-this-service",
      message: `${flag}: ${url}/graphql is another GraphQL service, or ${isPartner ? "not the gateway" : "the gateway"}`,
      expected,
      received,
      hint: "Correct the address; --base-url and --gateway-url are two different ones.",
    };
  }
  return {
    cause: "key",
    message: `${keyVariables[name]}: the service rejects the key`,
    expected,
    received,
    hint: `It may be wrong, revoked, expired, or of another environment than ${url}. Keys are created in the web app.`,
  };
}
