// Bodies that are arriving. None of them is verified, so a stranger decides on their number, their length, the size of their
// parts and whether they end.

import { ByteBuffer, isFragmented } from "@workspace-tasks/kernel/bytes.ts";
import { WebhookRejectedError } from "../errors.ts";
import type { RequestLimits } from "../options.ts";

export interface ReceivingBody {
  /** Rejects the body when it is too large, or consists of too many parts. */
  append(part: Uint8Array): void;
  toBytes(): Uint8Array;
  /** Forgets the body. Safe to repeat. */
  release(): void;
}

interface Entry {
  bytes: ByteBuffer | undefined;
  parts: number;
  readonly reject: (error: WebhookRejectedError) => void;
}

/**
 * Bounds each body, and the sum of all. Beyond the sum the one that began first is rejected: a genuine delivery arrives within
 * one round trip, and one that is kept open to take memory gives way to it.
 */
export class ReceivingBodies {
  readonly limits: RequestLimits;
  /** Those with at least one byte, the first first. */
  readonly #entries = new Set<Entry>();
  #bytes = 0;

  constructor(limits: RequestLimits) {
    this.limits = limits;
  }

  /** `reject` is called at most once, from within `append` of this body or of another one. */
  start(reject: (error: WebhookRejectedError) => void): ReceivingBody {
    const entry: Entry = { bytes: new ByteBuffer(), parts: 0, reject };
    return {
      append: (part) => this.#append(entry, part),
      toBytes: () => (entry.bytes ?? new ByteBuffer()).toBytes(),
      release: () => this.#release(entry),
    };
  }

  #append(entry: Entry, part: Uint8Array): void {
    const { bytes } = entry;
    if (!bytes || part.byteLength === 0) return;
    const length = bytes.length + part.byteLength;
    if (length > this.limits.bodyBytesMax) {
      this.#reject(entry, tooLarge(this.limits, length));
      return;
    }
    entry.parts += 1;
    if (isFragmented(entry.parts, length)) {
      this.#reject(entry, fragmented(entry.parts, length));
      return;
    }
    bytes.append(part);
    this.#bytes += part.byteLength;
    this.#entries.add(entry);
    while (this.#bytes > this.limits.receivingBytesMax && this.#entries.size > 1) {
      const [first] = this.#entries;
      if (first) this.#reject(first, receivingFull(this.limits));
    }
  }

  #reject(entry: Entry, error: WebhookRejectedError): void {
    this.#release(entry);
    entry.reject(error);
  }

  #release(entry: Entry): void {
    if (this.#entries.delete(entry)) this.#bytes -= entry.bytes?.length ?? 0;
    entry.bytes = undefined;
  }
}

/** The bodies of one receiver, whichever adapters read them. */
export function receivingBodiesOf(sink: object, limits: RequestLimits): ReceivingBodies {
  let bodies = bodiesBySink.get(sink);
  if (!bodies) {
    bodies = new ReceivingBodies(limits);
    bodiesBySink.set(sink, bodies);
  }
  return bodies;
}

const bodiesBySink = new WeakMap<object, ReceivingBodies>();

export function tooLarge({ bodyBytesMax }: RequestLimits, bytes: number): WebhookRejectedError {
  const message = `request body: expected at most ${bodyBytesMax} bytes, got ${bytes} or more`;
  return new WebhookRejectedError("BODY_TOO_LARGE", message);
}

function fragmented(parts: number, bytes: number): WebhookRejectedError {
  const message = `request body: expected parts of 16 bytes or more on average, got ${parts} with ${bytes} bytes in all`;
  return new WebhookRejectedError("BODY_FRAGMENTED", message);
}

function receivingFull({ receivingBytesMax }: RequestLimits): WebhookRejectedError {
  const message = `request body: more than limits.receivingBytesMax (${receivingBytesMax}) bytes of bodies are arriving, and this one began first`;
  return new WebhookRejectedError("RECEIVING_FULL", message);
}
