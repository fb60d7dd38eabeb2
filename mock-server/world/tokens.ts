// Access tokens are JWTs, as those of the real service: a client can read `exp` and `workspaceId` from them. They are
// signed with HS256 and a key derived from the seed, so equal runs issue equal tokens. A token names its key by an id that
// follows from the key, and the key decides who the caller is. So a token outlives a reset, a world of the same name and
// a restart of the mock, as the keys do: a client that keeps it does not notice them.

import { fromBase64, fromHex, textOfUtf8, toBase64Url, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { createBoundedCache } from "@workspace-tasks/kernel/cache.ts";
import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { Hashing } from "./random.ts";

export interface TokenClaims {
  /** Id of this token. */
  readonly jti: string;
  readonly kind: "user" | "workspace" | "partner";
  /** The user (or partner account) for which it was issued. */
  readonly sub: string;
  /** The API key or partner key it was minted from. */
  readonly keyId: string;
  /** A client can read it; the workspace of the key counts. */
  readonly workspaceId?: string | undefined;
  /** The named world that issued it; requests without a prefix are served by that world. */
  readonly world?: string | undefined;
  /** Seconds since the epoch, rounded down: neither is ever later than the time it stands for. */
  readonly iat: number;
  readonly exp: number;
  /** The exact end, in milliseconds since the epoch. */
  readonly endsAtMs: number;
}

export interface TokenSigner {
  mint(claims: TokenClaims): string;
  /** The claims of a token this service has signed, expired or not; `null` for anything else. */
  read(token: string): TokenClaims | null;
}

const header = encode(JSON.stringify({ alg: "HS256", typ: "JWT" }));

/** This service issues no longer ones. */
const tokenCharsMax = 4_096;

/** @param world name of the world: worlds with equal seeds do not accept each other's tokens; `null`: the mock's own */
export function createTokenSigner(
  seed: number,
  { sha256, hmacSha256 }: Hashing,
  world: string | null = null,
): TokenSigner {
  const scope = world === null ? seed : `${seed}/${world}`;
  const key = fromHex(sha256(`${scope}/token-signing-key`));
  // Checking a signature costs more than the rest of finding the caller.
  const verified = createBoundedCache<string, TokenClaims>(1_000);

  const signatureOf = (signed: string) => toBase64Url(hmacSha256(key, signed));

  return {
    mint(claims) {
      const signed = `${header}.${encode(JSON.stringify(world === null ? claims : { ...claims, world }))}`;
      return `${signed}.${signatureOf(signed)}`;
    },
    read(token) {
      const cached = verified.get(token);
      if (cached) return cached;
      const claims = token.length > tokenCharsMax ? null : readSigned(token, signatureOf, sha256);
      if (!claims) return null;
      verified.set(token, claims);
      return claims;
    },
  };
}

/** The world that a token says it is from; its signature is not checked. */
export function worldOfToken(token: string): string | null {
  const payload = token.length > tokenCharsMax ? undefined : token.split(".")[1];
  const claims = jsonOrUndefined(decode(payload ?? ""));
  const world = isPlainObject(claims) ? claims["world"] : undefined;
  return typeof world === "string" ? world : null;
}

function readSigned(
  token: string,
  signatureOf: (signed: string) => string,
  sha256: Hashing["sha256"],
): TokenClaims | null {
  const [first, payload, signature, ...rest] = token.split(".");
  if (first !== header || !payload || !signature || rest.length > 0) return null;
  // Compared as text: the decoder also accepts other spellings. By their hashes: the time that takes says nothing.
  if (sha256(signature) !== sha256(signatureOf(`${first}.${payload}`))) return null;
  // The signature proves that `mint` created this payload.
  return JSON.parse(decode(payload)) as TokenClaims;
}

function encode(text: string): string {
  return toBase64Url(utf8(text));
}

const decode = (payload: string): string => textOfUtf8(fromBase64(payload) ?? new Uint8Array());
