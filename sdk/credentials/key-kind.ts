// Keys look alike, and the service's error for one of another kind does not say so.

const kinds = [
  {
    begins: /^whsec_/,
    what: "a webhook's signing secret (whsec_…)",
    belongs: "the option secrets of createReceiver",
  },
  // Keys of the mock; the interface says nothing of the form of the service's.
  { begins: /^wtp_[\w-]{43}$/, what: "a partner's key (wtp_…)", belongs: "partnerApiKey" },
  { begins: /^wtk_[\w-]{43}$/, what: "a workspace's key (wtk_…)", belongs: "apiKey" },
];

/** What is wrong with a key of another kind than the option takes, without the key; `undefined` for any other. */
export function wrongKind(option: "apiKey" | "partnerApiKey", key: string): string | undefined {
  const kind = kinds.find(({ begins }) => begins.test(key));
  if (!kind || kind.belongs === option) return undefined;
  return `expected ${option === "apiKey" ? "an API key" : "a partner's API key"}, got ${kind.what}, which belongs in ${kind.belongs}`;
}
