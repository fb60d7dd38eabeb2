import { ReceiverError } from "../errors.ts";

export interface ByteBudget {
  /**
   * Takes the bytes of one delivery; the returned function gives them back, once.
   *
   * @throws {ReceiverError} `INBOX_UNAVAILABLE` when that would be more than the maximum
   */
  take(bytes: number): () => void;
}

// What a request and its waiting promises take besides the body.
const overheadBytes = 8_192;

/** Bounds the memory of the deliveries that are being stored. One delivery alone may be larger. */
export function createByteBudget(bytesMax: number): ByteBudget {
  let used = 0;
  return {
    take(bytes) {
      const taken = bytes + overheadBytes;
      if (used > 0 && used + taken > bytesMax) {
        const message = `more than storingBytesMax (${bytesMax}) bytes of deliveries wait for the inbox to store them`;
        throw new ReceiverError("INBOX_UNAVAILABLE", message);
      }
      used += taken;
      let isTaken = true;
      return () => {
        if (isTaken) used -= taken;
        isTaken = false;
      };
    },
  };
}
