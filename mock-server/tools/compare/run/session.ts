import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isPlainObject, valueAt } from "@workspace-tasks/kernel/plain-object.ts";
import { operationDocuments } from "@workspace-tasks/mock-server/parts";
import { exchangeText } from "../catalogue/tokens.ts";
import { claimsOf } from "../observe/redact-data.ts";
import { redactMessage } from "../observe/redact-message.ts";
import type { KeyName, TokenName } from "../rules/probe.ts";
import { graphqlRequest, SendError, type Sender } from "./send-request.ts";

/** How to reach a service. The keys stay in memory. */
export interface Access {
  readonly baseUrl: string;
  readonly gatewayUrl: string | null;
  readonly keys: Readonly<Partial<Record<KeyName, string>>>;
}

/** Tokens of the keys, exchanged again before they expire. */
export interface Session {
  /** `null`: no token is needed. @throws NoTokenError when the service issues none */
  token(name: TokenName): Promise<string | null>;
  /** Forgets the tokens of a key, so that the next use exchanges it again. */
  renew(name: TokenName): void;
}

export class NoTokenError extends SendError {
  /** What the service said instead, in words that are free of client data; `null` when it said nothing. */
  readonly said: string | null;

  constructor(message: string, said: string | null = null) {
    super("no-token", message);
    this.said = said;
  }
}

/** A wrong token of the right form: its payload says that it is of the year 2001. */
const invalidToken =
  "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjEwMDAwMDAwMDB9.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/** A token is not used in its last seconds, so that a slow request does not arrive with an expired one. */
const marginMs = 40_000;
const lifetimeUnknownMs = 90_000;

interface Issued {
  readonly workspaceToken: string;
  readonly userToken: string;
  readonly usableUntilMs: number;
}

export function createSession({ keys, baseUrl, gatewayUrl }: Access, sender: Sender, clock: Clock): Session {
  const issued = new Map<KeyName, Issued>();

  const exchange = async (name: KeyName): Promise<Issued> => {
    const key = keys[name];
    if (key === undefined) throw new NoTokenError(`there is no key for ${name}`);
    const isPartner = name === "partner";
    const text = isPartner ? operationDocuments.LoginPartner.text : exchangeText;
    const variables = isPartner ? { token: key } : { refreshToken: key };
    const url = isPartner ? String(gatewayUrl) : baseUrl;
    const response = await sender.send(graphqlRequest(url, { query: text, variables }));
    const tokens = Object.values(valueAt(response.json, "data") ?? {}).find(isPlainObject) ?? {};
    const { workspaceToken = tokens["accessToken"], userToken = "" } = tokens;
    if (typeof workspaceToken !== "string" || typeof userToken !== "string")
      throw new NoTokenError(
        `the service issued no token for the ${isPartner ? "partner" : "API"} key`,
        messageIn(response.json),
      );
    return { workspaceToken, userToken, usableUntilMs: clock.monotonic() + usableMs(workspaceToken) };
  };

  const keyOf = (name: TokenName): KeyName => {
    if (name === "readOnly" || name === "partner" || name === "admin") return name;
    return keys.admin === undefined ? "readOnly" : "admin";
  };

  return {
    async token(name) {
      if (name === "none") return null;
      if (name === "invalid") return invalidToken;
      const key = keyOf(name);
      let tokens = issued.get(key);
      if (!tokens || tokens.usableUntilMs <= clock.monotonic()) {
        tokens = await exchange(key);
        issued.set(key, tokens);
      }
      return name === "user" ? tokens.userToken : tokens.workspaceToken;
    },
    renew: (name) => void issued.delete(keyOf(name)),
  };
}

function usableMs(token: string): number {
  const { exp, iat } = claimsOf(token) ?? {};
  if (typeof exp !== "number" || typeof iat !== "number") return lifetimeUnknownMs;
  const lifetimeMs = (exp - iat) * 1_000;
  return Math.max(lifetimeMs / 3, lifetimeMs - marginMs);
}

function messageIn(json: unknown): string | null {
  const errors = valueAt(json, "errors");
  const [error] = Array.isArray(errors) ? errors : [];
  const message = valueAt(error, "message");
  return typeof message === "string" ? redactMessage(message) : null;
}
