import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { nodeHashing } from "../../../../mock-server/node/platform.ts";
import {
  createTokenSigner,
  type TokenClaims,
  type TokenSigner,
  worldOfToken,
} from "../../../../mock-server/world/tokens.ts";

const claims: TokenClaims = {
  jti: "t-1",
  kind: "workspace",
  sub: "u-1",
  keyId: "k-1",
  workspaceId: "w-1",
  iat: 1_000,
  exp: 1_180,
  endsAtMs: 1_180_000,
};

describe("createTokenSigner", () => {
  it("mints equal tokens for equal seeds, which only these seeds read", () => {
    const token = createTokenSigner(1, nodeHashing).mint(claims);
    expect(createTokenSigner(1, nodeHashing).mint(claims)).toBe(token);
    expect(createTokenSigner(1, nodeHashing).read(token)).toEqual(claims);
    expect(createTokenSigner(2, nodeHashing).read(token)).toBeNull();
  });

  it("returns null for a token with any one character changed", () => {
    const signer = createTokenSigner(1, nodeHashing);
    const token = signer.mint(claims);
    for (let index = 0; index < token.length; index++) {
      const other = token[index] === "A" ? "B" : "A";
      expect(signer.read(`${token.slice(0, index)}${other}${token.slice(index + 1)}`)).toBeNull();
    }
  });

  it("returns null for any other text", () => {
    const signer = createTokenSigner(1, nodeHashing);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `${text}.${text}.${text}`),
        ),
        (text) => {
          expect(signer.read(text)).toBeNull();
        },
      ),
    );
    for (const more of [".more", "=", "!!", " "]) {
      expect(signer.read(`${signer.mint(claims)}${more}`)).toBeNull();
    }
    expect(signer.read("x".repeat(10_000))).toBeNull();
  });
});

describe("a token of a named world", () => {
  let signer: TokenSigner;
  let token: string;
  beforeEach(() => {
    signer = createTokenSigner(1, nodeHashing, "blue");
    token = signer.mint(claims);
  });
  const withPayload = (payload: string) => `header.${Buffer.from(payload).toString("base64url")}.signature`;

  it("names its world, which alone reads it", () => {
    expect(signer.read(token)).toEqual({ ...claims, world: "blue" });
    expect(createTokenSigner(1, nodeHashing, "red").read(token)).toBeNull();
    expect(createTokenSigner(1, nodeHashing).read(token)).toBeNull();
    expect([worldOfToken(token), worldOfToken(createTokenSigner(1, nodeHashing).mint(claims))]).toEqual([
      "blue",
      null,
    ]);
  });

  it("is read up to 4,096 characters", () => {
    const sized = (length: number) => {
      const minted = (characters: number) => signer.mint({ ...claims, sub: "u".repeat(characters) });
      let characters = 0;
      while (minted(characters).length < length) characters += 1;
      return minted(characters);
    };
    const longest = sized(4_096);
    const tooLong = sized(4_097);
    expect(longest).toHaveLength(4_096);
    expect([signer.read(longest)?.world, worldOfToken(longest)]).toEqual(["blue", "blue"]);
    expect([signer.read(tooLong), worldOfToken(tooLong)]).toEqual([null, null]);
  });

  it("has the header of a JWT, and no world is that of the mock itself", () => {
    const [header = "", payload = ""] = token.split(".");
    const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
    expect([read(header), read(payload)]).toEqual([
      { alg: "HS256", typ: "JWT" },
      { ...claims, world: "blue" },
    ]);
    expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(
      createTokenSigner(1, nodeHashing, "null").read(createTokenSigner(1, nodeHashing).mint(claims)),
    ).toBeNull();
  });

  it("cannot be taken from a text that is no token, or that names none", () => {
    const texts = ["", "text", "a.b", "a..b", withPayload("{"), withPayload("null"), withPayload("[]")];
    expect([...texts, withPayload('{"world":1}')].map(worldOfToken)).toEqual(Array(8).fill(null));
    expect(worldOfToken(withPayload('{"world":"blue"}'))).toBe("blue");
  });
});
