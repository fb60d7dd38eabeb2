import { createHash, createHmac, timingSafeEqual } from "node:crypto";

// Access tokens are JWTs signed with HS256, as the real service's are JWTs: a client may read `exp` and
// `workspaceId` from them. The signing key is derived from the seed, so equal runs issue equal tokens.

export type TokenClaims = {
  /** Id of this token. */
  readonly jti: string;
  readonly kind: "user" | "workspace" | "partner";
  /** The user (or partner account) the token acts as. */
  readonly sub: string;
  /** The API key or partner key it was minted from. */
  readonly keyId: string;
  readonly workspaceId?: string | undefined;
  readonly membershipId?: string | undefined;
  readonly access?: "read_only" | "read_write" | undefined;
  /** Seconds since the epoch. */
  readonly iat: number;
  readonly exp: number;
};

export interface TokenSigner {
  mint(claims: TokenClaims): string;
  /** The claims of a token this service has signed, expired or not; `null` for anything else. */
  read(token: string): TokenClaims | null;
}

const header = encode(JSON.stringify({ alg: "HS256", typ: "JWT" }));

/** Tokens whose signature has been checked already; forgotten all at once when full. */
const verifiedTokensMax = 1_000;

/** Longer ones are not ours: reading them would be work for nothing. */
const tokenCharsMax = 4_096;

export function createTokenSigner(seed: number): TokenSigner {
  const key = createHash("sha256").update(`${seed}/token-signing-key`).digest();
  const verified = new Map<string, TokenClaims>();

  const signatureOf = (signed: string) => createHmac("sha256", key).update(signed).digest();

  return {
    mint(claims) {
      const signed = `${header}.${encode(JSON.stringify(claims))}`;
      return `${signed}.${signatureOf(signed).toString("base64url")}`;
    },
    read(token) {
      const known = verified.get(token);
      if (known) return known;
      const claims = token.length > tokenCharsMax ? null : readSigned(token, signatureOf);
      if (!claims) return null;
      if (verified.size >= verifiedTokensMax) verified.clear();
      verified.set(token, claims);
      return claims;
    },
  };
}

function readSigned(token: string, signatureOf: (signed: string) => Buffer): TokenClaims | null {
  const [first, payload, signature, ...rest] = token.split(".");
  if (first !== header || !payload || !signature || rest.length > 0) return null;
  const expected = signatureOf(`${first}.${payload}`);
  const presented = Buffer.from(signature, "base64url");
  if (presented.length !== expected.length || !timingSafeEqual(presented, expected)) return null;
  // The signature proves that `mint` wrote this payload.
  return JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as TokenClaims;
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64url");
}
