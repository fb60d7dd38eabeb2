import { generateKeyPairSync, sign } from "node:crypto";

/** A key and a self-signed certificate for 127.0.0.1, as PEM, valid from a day before `now` to a day after. */
export function createSelfSignedCertificate(now: number): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = der(0x30, der(0x31, der(0x30, oid("550403"), der(0x0c, Buffer.from("test receiver")))));
  const ecdsaWithSha256 = der(0x30, oid("2a8648ce3d040302"));
  const dayMs = 86_400_000;
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    der(0x30, utcTime(now - dayMs), utcTime(now + dayMs)),
    name,
    publicKey.export({ format: "der", type: "spki" }),
    der(0xa3, der(0x30, subjectAlternativeName(Buffer.from([127, 0, 0, 1])))),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", body, privateKey)]));
  const cert = der(0x30, body, ecdsaWithSha256, signature).toString("base64");
  return {
    key: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${cert.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
  };
}

function subjectAlternativeName(address: Buffer): Buffer {
  return der(0x30, oid("551d11"), der(0x04, der(0x30, der(0x87, address))));
}

const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));

function utcTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/\D/g, "").slice(2, 14);
  return der(0x17, Buffer.from(`${text}Z`));
}

/** A DER element: tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}
