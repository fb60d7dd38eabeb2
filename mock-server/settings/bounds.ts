// Bounds that no setting changes. They protect the memory and the stack of this process, and are higher than what a client
// of the service needs.

/** Levels of JSON in a GraphQL request. Deeper: 400. */
export const jsonDepthMax = 100;
/** Tokens of a GraphQL document. More: `GRAPHQL_PARSE_FAILED`. */
export const queryTokensMax = 2_000;
/** Levels of fields of a GraphQL document, fragments followed. Deeper: `GRAPHQL_VALIDATION_FAILED`. */
export const queryDepthMax = 12;
/** Characters of a query in the journal, and of a request whose variables are kept there. */
export const journalTextCharsMax = 8_192;
/** Worlds at the same time, besides the mock's own. More: `CONFLICT`. */
export const worldsMax = 2_000;
/** Bodies of deliveries, and 1,000 bytes for each delivery and attempt. Past it they are discarded as past `deliveriesMax`. */
export const deliveryBytesMax = 64 * 1_048_576;
/** Bytes of all uploads of a world; as base64, they leave half of a snapshot for everything else. More: 507. */
export const uploadStorageBytesMax = 128 * 1_048_576;
/** Endpoints of a workspace. More: `CONFLICT`. */
export const endpointsPerWorkspaceMax = 10_000;
/** Old secrets of an endpoint in their grace period. More: `CONFLICT`. */
export const secretsPerEndpointMax = 50;
/** Characters of a receiver's response that are kept per attempt. */
export const responseBodyCharsMax = 16_384;
/** Real sockets, in real time also under a virtual clock: of one receiver, and for reading one URL. */
export const outboundLimits = {
  socketsPerOriginMax: 64,
  readTimeoutMs: 15_000,
  readBytesMax: 100 * 1_048_576,
} as const;

/** Bars of a histogram, unless the caller says how many. */
export const barsDefault = 60;
