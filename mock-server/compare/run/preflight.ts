// Before the first probe: is there a service, is it this one, and does it take the keys? Each cause has a text of its own.

import { operationDocuments } from "../../generated/operation-documents.ts";
import { isPlainObject } from "../../plain-object.ts";
import { type KeyName, keyVariables } from "../catalogue/probe.ts";
import type { RawResponse } from "../observe/observe-response.ts";
import { redactMessage } from "../observe/redact-message.ts";
import { addressCodes, SendError, type Sender } from "./send-request.ts";
import type { Access } from "./session.ts";

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

/** What makes a comparison impossible; `null` when nothing does. */
export async function preflight(access: Access, sender: Sender): Promise<Problem | null> {
  const { baseUrl, gatewayUrl, keys } = access;
  const places: readonly Place[] = [
    { flag: "--base-url", url: baseUrl },
    ...(gatewayUrl === null ? [] : [{ flag: "--gateway-url" as const, url: gatewayUrl }]),
  ];
  for (const place of places) {
    const problem = await checkPlace(place, sender);
    if (problem) return problem;
  }
  for (const name of ["admin", "readOnly", "partner"] as const) {
    if (keys[name] === undefined || (name === "partner" && gatewayUrl === null)) continue;
    const problem = await checkKey(name, access, sender);
    if (problem) return problem;
  }
  return null;
}

const post = (url: string, query: string, variables: object = {}) => ({
  url: `${url}/graphql`,
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json" },
  body: JSON.stringify({ query, variables }),
});

async function checkPlace(place: Place, sender: Sender): Promise<Problem | null> {
  try {
    return problemOfResponse(place, await sender.send(post(place.url, "{ __typename }")));
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
  return "Another service listens there: correct the address.";
}

const connectHints: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Nothing listens on that port: correct it, or start the service.",
  ENOTFOUND: "The host name is unknown: correct it.",
  EAI_AGAIN: "The host name could not be resolved: check the network and its DNS.",
  ECONNRESET:
    "The connection was closed: a proxy or firewall may be in between, or the port speaks another protocol.",
  ETIMEDOUT: "The connection was not accepted: a firewall may drop it; check the network and the VPN.",
  UND_ERR_CONNECT_TIMEOUT:
    "The connection was not accepted: a firewall may drop it; check the network and the VPN.",
  UND_ERR_SOCKET:
    "The connection was closed: a proxy or firewall may be in between, or the port speaks another protocol.",
  EHOSTUNREACH: "There is no route to the host: check the network and the VPN.",
  ENETUNREACH: "There is no route to the host: check the network and the VPN.",
  EPROTO:
    "The server does not speak TLS on that port: correct the port, or use http for a mock on this computer.",
  ERR_SSL_WRONG_VERSION_NUMBER:
    "The server does not speak TLS on that port: correct the port, or use http for a mock on this computer.",
  DEPTH_ZERO_SELF_SIGNED_CERT: "Its certificate is self-signed: name its authority in NODE_EXTRA_CA_CERTS.",
  SELF_SIGNED_CERT_IN_CHAIN: "Its certificate authority is unknown: name it in NODE_EXTRA_CA_CERTS.",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "Its certificate authority is unknown: name it in NODE_EXTRA_CA_CERTS.",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "Its certificate authority is unknown: name it in NODE_EXTRA_CA_CERTS.",
  CERT_HAS_EXPIRED: "Its certificate has expired.",
  ERR_TLS_CERT_ALTNAME_INVALID: "Its certificate is for another host name: correct the address.",
};

function problemOfError({ flag, url }: Place, { kind, code, message }: SendError): Problem {
  const common = { expected: graphqlExpected, received: message };
  if (kind === "stopped")
    return { ...common, cause: "stopped", message: "stopped before the first probe", hint: "" };
  if (kind === "rate-limited") {
    const hint =
      "The rate limit of the key, or of this computer's address, is used up: wait, or stop what uses it.";
    return { ...common, cause: "rate-limit", message: `${flag}: the rate limit is exceeded`, hint };
  }
  if (kind === "too-large") {
    const hint = "Another service listens there: correct the address.";
    return {
      ...common,
      cause: "not-this-service",
      message: `${flag}: ${url}/graphql is not the service`,
      hint,
    };
  }
  return {
    ...common,
    cause: addressCodes.has(code ?? "") ? "address" : "network",
    message: `${flag}: could not reach ${url}`,
    hint: connectHints[code ?? ""] ?? "Check the address, the network, the VPN and proxies in between.",
  };
}

async function checkKey(
  name: KeyName,
  { baseUrl, gatewayUrl, keys }: Access,
  sender: Sender,
): Promise<Problem | null> {
  const isPartner = name === "partner";
  const { text } = isPartner ? operationDocuments.LoginPartner : operationDocuments.ExchangeApiKey;
  const place: Place = isPartner
    ? { flag: "--gateway-url", url: gatewayUrl ?? "" }
    : { flag: "--base-url", url: baseUrl };
  const variables = isPartner ? { token: keys[name] } : { refreshToken: keys[name] };
  let json: unknown;
  try {
    ({ json } = await sender.send(post(place.url, text, variables)));
  } catch (error) {
    if (error instanceof SendError) return problemOfError(place, error);
    throw error;
  }
  const errors = isPlainObject(json) && Array.isArray(json["errors"]) ? json["errors"] : [];
  const data = isPlainObject(json) && isPlainObject(json["data"]) ? json["data"] : {};
  if (errors.length === 0 && Object.values(data).some(isPlainObject)) return null;
  const [error] = errors.filter(isPlainObject);
  const message = typeof error?.["message"] === "string" ? error["message"] : "";
  const received = message === "" ? "no token" : `the error "${redactMessage(message)}"`;
  const expected = `tokens from ${isPartner ? "loginViaPersonalApiToken" : "exchangeSurfaceRefreshTokenForAccessTokens"}`;
  if (/cannot query field|unknown argument|unknown type/i.test(message)) {
    return {
      cause: "not-this-service",
      message: `${place.flag}: ${place.url}/graphql is another GraphQL service, or ${isPartner ? "not the gateway" : "the gateway"}`,
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
    hint: `It may be wrong, revoked, expired, or of another environment than ${place.url}. Keys are created in the web app.`,
  };
}
