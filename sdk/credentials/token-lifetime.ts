import { parseHttpDateMs } from "../request/http-date.ts";

// Interface §5. Used only for a token without the claim.
const documentedLifetimeMs = 180_000;
// Interface §5: the service issues no token for longer; a larger claim means a wrong clock.
const lifetimeMsMax = 1_800_000;

/**
 * Lifetime of a token, counted from the moment its exchange was sent.
 *
 * `exp` is a time of the service's clock, so it is compared with the service's own times (`iat`, the response's `Date`)
 * and the shorter result is used. The local clock, which may be hours off, is used only without both.
 */
export function tokenLifetimeMs(token: string, serverDate: string | null, localNowMs: number): number {
  const { exp, iat } = readClaims(token);
  if (exp === undefined) return documentedLifetimeMs;
  const serverNowMs = parseHttpDateMs(serverDate ?? "");
  const lifetimes = [
    ...(iat === undefined ? [] : [exp * 1_000 - iat * 1_000]),
    ...(serverNowMs === undefined ? [] : [exp * 1_000 - serverNowMs]),
  ].filter(isPlausible);
  if (lifetimes.length > 0) return Math.min(...lifetimes);
  const local = exp * 1_000 - localNowMs;
  return isPlausible(local) ? local : documentedLifetimeMs;
}

function isPlausible(lifetimeMs: number): boolean {
  return lifetimeMs > 0 && lifetimeMs <= lifetimeMsMax;
}

interface Claims {
  readonly exp?: number | undefined;
  readonly iat?: number | undefined;
}

function readClaims(token: string): Claims {
  const [, payload, signature] = token.split(".");
  if (payload === undefined || signature === undefined) return {};
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    if (typeof claims !== "object" || claims === null) return {};
    return { exp: numberField(claims, "exp"), iat: numberField(claims, "iat") };
  } catch {
    // Not a JWT: tokens are opaque by contract.
    return {};
  }
}

function numberField(claims: object, name: string): number | undefined {
  const value: unknown = Reflect.get(claims, name);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
