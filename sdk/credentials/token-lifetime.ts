import { parseHttpDateMs } from "../request/retry-after.ts";

// Interface §5. Used only for a token without the claim.
const documentedLifetimeMs = 180_000;
// Interface §5: the service issues no token for longer; a larger claim means a wrong clock.
const lifetimeMsMax = 1_800_000;

/**
 * Lifetime of a token, counted from the moment its exchange was sent.
 *
 * `exp` is a time of the service's clock, so it is compared with the time of issue, `iat`, and without it with the
 * response's `Date`, which a proxy may have set. The local clock, which may be hours off, is used only without both.
 */
export function tokenLifetimeMs(token: string, serverDate: string | null, localNowMs: number): number {
  const { exp, iat } = readClaims(token);
  if (exp === undefined) return documentedLifetimeMs;
  const times = [iat && iat * 1_000, parseHttpDateMs(serverDate ?? ""), localNowMs];
  const lifetimes = times.flatMap((timeMs) => (timeMs === undefined ? [] : [exp * 1_000 - timeMs]));
  return lifetimes.find(isPlausible) ?? documentedLifetimeMs;
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
    const claims: unknown = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")));
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
