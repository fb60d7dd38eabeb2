import { textOfUtf8, utf8 } from "@workspace-tasks/kernel/bytes.ts";

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

const keptMax = 500;
const bodyCharsMax = 16_384;

/** Keeps the newest. Sequence numbers grow by one; some requests are not kept. */
export function createRoundTrips(): RoundTrips {
  const ring: { readonly sequence: number; readonly roundTrip: RoundTrip }[] = [];
  return {
    keep(sequence, { requestHeaders, responseHeaders, responseBody }) {
      const isTruncated = responseBody.length > bodyCharsMax;
      // A part of a string keeps the whole one in memory, a copy of the part does not.
      const body = isTruncated ? textOfUtf8(utf8(responseBody.slice(0, bodyCharsMax))) : responseBody;
      const roundTrip = { requestHeaders, responseHeaders, responseBody: body, isTruncated };
      ring[sequence % keptMax] = { sequence, roundTrip };
    },
    get(sequence) {
      const kept = ring[sequence % keptMax];
      return kept?.sequence === sequence ? kept.roundTrip : undefined;
    },
  };
}
