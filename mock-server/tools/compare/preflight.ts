// Before the first rule: is there a service, is it this one, and does it take the keys? Each cause has a text of its own.

import { connectHints } from "../connection-errors.ts";
import { SendError } from "./ask/send.ts";
import { type KeyName, keyVariables, type Service, type ServiceResponse } from "./ask/service.ts";

/** Why nothing can be compared. */
export interface Problem {
  readonly message: string;
  readonly received: string;
  readonly hint: string;
}

interface Place {
  readonly flag: "--base-url" | "--gateway-url";
  readonly url: string | null;
  readonly router: "base" | "gateway";
  readonly keys: readonly KeyName[];
}

/** What makes a comparison impossible; `null` when nothing does. A token that is issued is used by the run. */
export async function preflight(service: Service): Promise<Problem | null> {
  const { baseUrl, gatewayUrl } = service.access;
  const places: readonly Place[] = [
    { flag: "--base-url", url: baseUrl, router: "base", keys: ["admin", "readOnly"] },
    { flag: "--gateway-url", url: gatewayUrl, router: "gateway", keys: ["partner"] },
  ];
  for (const place of places) {
    const problem = place.url === null ? null : await checkPlace(place, service);
    if (problem) return problem;
  }
  return null;
}

async function checkPlace(place: Place, service: Service): Promise<Problem | null> {
  let asked: KeyName | null = null;
  try {
    const response = await service.graphql("{ __typename }", {}, { token: "none", router: place.router });
    if (response.body !== "graphql") return notTheService(place, response);
    for (const name of place.keys) {
      asked = name;
      if (service.access.keys[name] !== undefined) await service.token(name as "admin");
    }
    return null;
  } catch (error) {
    if (!(error instanceof SendError)) throw error;
    return error.kind === "no-token" && asked
      ? problemOfKey(asked, place, error.message)
      : problemOf(place, error);
  }
}

function notTheService({ flag, url }: Place, { status, contentType, body }: ServiceResponse): Problem {
  const shown = { html: "an HTML page", empty: "an empty body" }[body as string] ?? contentType;
  return {
    message: `${flag}: ${url}/graphql is not the service`,
    received: `HTTP ${status}, ${shown === "none" ? "no content type" : shown}`,
    hint: hintForStatus(flag, status, body === "html"),
  };
}

const anotherService = "Another service listens there: correct the address.";

function hintForStatus(flag: string, status: number, isHtml: boolean): string {
  if (status >= 300 && status < 400) return "It redirects elsewhere: pass the address that it redirects to.";
  if (status === 404 || status === 405)
    return `Nothing takes GraphQL at that path: ${flag} is the address to which /graphql is added.`;
  if (status === 401 || status === 403 || status === 407)
    return "Something in front of the service wants a login: a proxy, a VPN, or a list of allowed addresses.";
  if (isHtml) return "This looks like a web page: the API has another address than the web app.";
  return anotherService;
}

function problemOf({ flag, url }: Place, { kind, code, message: received }: SendError): Problem {
  const problems: { readonly [Kind in SendError["kind"]]?: Omit<Problem, "received"> } = {
    stopped: { message: "stopped before the first rule", hint: "" },
    limited: {
      message: `${flag}: the rate limit is exceeded`,
      hint: "The rate limit of the key, or of this computer's address, is used up: wait, or stop what uses it.",
    },
    "too-large": { message: `${flag}: ${url}/graphql is not the service`, hint: anotherService },
  };
  const away = {
    message: `${flag}: could not reach ${url}`,
    hint:
      connectHints[code ?? ""] ??
      "Check the address, the network, the VPN, and firewalls and proxies in between.",
  };
  return { received, ...(problems[kind] ?? away) };
}

function problemOfKey(name: KeyName, { flag, url, router }: Place, received: string): Problem {
  const otherRouter = router === "gateway" ? "not the gateway" : "the gateway";
  if (/cannot query field|unknown argument|unknown type/i.test(received))
    return {
      message: `${flag}: ${url}/graphql is another GraphQL service, or ${otherRouter}`,
      received,
      hint: "Correct the address; --base-url and --gateway-url are two different ones.",
    };
  return {
    message: `${keyVariables[name]}: the service rejects the key`,
    received,
    hint: `It may be wrong, revoked, expired, or of another environment than ${url}. Keys are created in the web app.`,
  };
}
