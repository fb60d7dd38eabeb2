/** Headers and response of one GraphQL request, with their secrets: they are redacted where they are shown. */
export interface RoundTrip {
  readonly requestHeaders: Readonly<Record<string, string | string[] | undefined>>;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: string;
  readonly isTruncated: boolean;
}

/** Only in memory: a snapshot has none of them. */
export interface RoundTrips {
  keep(sequence: number, roundTrip: Omit<RoundTrip, "isTruncated">): void;
  get(sequence: number): RoundTrip | undefined;
}

/** The oldest are dropped first. */
const keptMax = 500;
const bodyCharsMax = 16_384;

export function createRoundTrips(): RoundTrips {
  const kept = new Map<number, RoundTrip>();
  return {
    keep(sequence, { responseBody, ...headers }) {
      const isTruncated = responseBody.length > bodyCharsMax;
      // A part of a string keeps the whole one in memory, a copy of the part does not.
      const body = isTruncated ? Buffer.from(responseBody.slice(0, bodyCharsMax)).toString() : responseBody;
      kept.set(sequence, { ...headers, responseBody: body, isTruncated });
      if (kept.size > keptMax) kept.delete(kept.keys().next().value as number);
    },
    get: (sequence) => kept.get(sequence),
  };
}
