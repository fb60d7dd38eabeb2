const tls = "The server does not speak TLS on that port: correct the port, or try http.";
const authority = "Its certificate authority is unknown: name it in NODE_EXTRA_CA_CERTS.";

/** What to do when a connection could not be opened, by the code of the system. */
export const connectHints: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Nothing listens on that port: correct it, or start what should listen there.",
  ENOTFOUND: "The host name is unknown: correct it.",
  EAI_AGAIN: "The host name could not be resolved: check the network.",
  EPROTO: tls,
  ERR_SSL_WRONG_VERSION_NUMBER: tls,
  DEPTH_ZERO_SELF_SIGNED_CERT: authority,
  SELF_SIGNED_CERT_IN_CHAIN: authority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: authority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: authority,
  CERT_HAS_EXPIRED: "Its certificate has expired.",
  ERR_TLS_CERT_ALTNAME_INVALID: "Its certificate is for another host name: correct the address.",
};

/** The code of a failed request, or of one of its causes. */
export function connectionCodeOf(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string" && /^[A-Z0-9_]+$/.test(cause.code))
      return cause.code;
  }
  return null;
}
