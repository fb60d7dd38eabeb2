import type { Random } from "../../integration/simulation/random.ts";

/** The time of the receiver, in whole seconds. */
export const nowSeconds = 1_772_357_400;

/** One signature of the header: what was signed, with which secret, and how it is written. */
export interface Entry {
  readonly version: string;
  readonly secret: string;
  /** Signs the bytes, or the text that they decode to. */
  readonly over: "bytes" | "text";
  /** What was signed in place of what is sent. */
  readonly signed: { readonly id?: string; readonly timestamp?: string; readonly body?: Buffer };
  readonly changeMac?: ((mac: Buffer) => Buffer) | undefined;
  /** How the base64 text is written. */
  readonly spell?: ((base64: string) => string) | undefined;
}

export type HeaderLines = readonly (readonly [name: string, value: string])[];

export interface Draft {
  readonly secrets: readonly string[];
  readonly nowMs: number;
  readonly id: string;
  readonly timestamp: string;
  readonly body: Buffer;
  readonly entries: readonly Entry[];
  /** How the list of signatures is written, when not as the service writes it. */
  readonly writeList?: ((entries: readonly string[]) => string) | undefined;
  readonly changeLines?: ((lines: HeaderLines) => HeaderLines) | undefined;
}

export interface Mutation {
  readonly name: string;
  readonly apply: (draft: Draft, random: Random) => Draft;
}
