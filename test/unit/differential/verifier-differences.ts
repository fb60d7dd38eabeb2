// Where verifiers may decide differently about one request. `explains` asks about the request alone, never about the
// error of the kit: an error code would excuse any mistake of the kit.

import { isUtf8 } from "node:buffer";
import type { GeneratedRequest } from "./generated-request.ts";
import { nodeHeaders } from "./verifiers.ts";

export interface VerifierDifference {
  readonly id: string;
  /** Why the kit is right. */
  readonly reason: string;
  readonly explains: (request: GeneratedRequest) => boolean;
}

const header = (request: GeneratedRequest, name: string) => nodeHeaders(request.lines)[name] ?? "";

function isIssuedSecret(secret: string): boolean {
  const key = Buffer.from(secret.slice(6), "base64");
  const spelling = `whsec_${key.toString("base64")}`;
  return spelling === secret && key.length >= 24 && key.length <= 64 && !/^whsec_[0-9a-f]+$/i.test(secret);
}

/** What the kit alone accepts. */
export const kitIsRight: VerifierDifference = {
  id: "body-not-utf8-signed-as-bytes",
  reason: "The signature over the bytes is right; the library decodes them to text before it hashes them.",
  explains: ({ body }) => !isUtf8(body),
};

/** What the library alone accepts, because it decodes bodies to text. */
const decodedBody: VerifierDifference = {
  id: "body-swapped-for-replacement-character",
  reason: "Decoding maps every invalid byte to U+FFFD, so a changed body keeps its signature.",
  explains: ({ body }) => !isUtf8(body),
};

/** What the library alone accepts, because it reads headers and secrets more leniently. */
const strictness: readonly VerifierDifference[] = [
  {
    id: "secret-not-as-issued",
    reason:
      "A secret that the service cannot have issued is a copying mistake, and a short key can be guessed.",
    explains: ({ secrets }) => !secrets.every(isIssuedSecret),
  },
  {
    id: "timestamp-not-plain-digits",
    reason: "The library signs the number that it read, so many texts have one signature.",
    explains: (request) => !/^[1-9]\d{0,11}$/.test(header(request, "webhook-timestamp")),
  },
  {
    id: "id-outside-alphabet",
    reason: "The id becomes a key of the inbox and appears in logs.",
    explains: (request) =>
      /[^A-Za-z0-9._:~+/=@-]/.test(header(request, "webhook-id")) ||
      header(request, "webhook-id").length > 255,
  },
  {
    id: "body-begins-like-timestamp",
    reason: "Such a body can be cut out of another delivery, and its signature stays valid.",
    explains: ({ body }) =>
      /^([A-Za-z0-9._:~+/=@-]{1,255}\.)?[1-9]\d{9,11}\./.test(body.subarray(0, 300).toString("latin1")),
  },
  {
    id: "signature-list-malformed",
    reason: "A sender that is correct writes none of these, and two parsers read them differently.",
    explains: (request) =>
      header(request, "webhook-signature")
        .split(" ")
        .some((entry) => {
          const [version = "", mac = "", ...rest] = entry.split(",");
          const isVersion = /^[A-Za-z0-9]{1,8}$/.test(version);
          return !isVersion || rest.length > 0 || !/^[\w+/-]+={0,2}$/.test(mac);
        }),
  },
  {
    id: "signature-list-too-long",
    reason: "Each signature costs a comparison, and a stranger decides how many there are.",
    explains: (request) => {
      return header(request, "webhook-signature").length > 8_192;
    },
  },
];

export const listedDifferences: readonly VerifierDifference[] = [kitIsRight, decodedBody, ...strictness];

/** A repeated header never passes: which of the two is meant is not known. */
export function isRepeated({ lines }: GeneratedRequest): boolean {
  const names = lines.map(([name]) => name.toLowerCase()).filter((name) => name.startsWith("webhook-"));
  return new Set(names).size < names.length;
}

/** True where the kit must reject, whatever a library does. */
export const mustReject = (request: GeneratedRequest) =>
  isRepeated(request) || strictness.some(({ explains }) => explains(request));
