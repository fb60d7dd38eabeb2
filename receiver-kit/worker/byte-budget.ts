import { ReceiverError } from "../errors.ts";

// What a request and its waiting promises take besides the body.
const overheadBytes = 8_192;

/**
 * Bounds the memory of the deliveries that are being stored. One delivery alone may be larger. Takes the bytes of one; the
 * returned function gives them back, once.
 *
 * @throws {ReceiverError} `INBOX_UNAVAILABLE` when that would be more than `bytesMax`
 */
export function createByteBudget(bytesMax: number): (bytes: number) => () => void {
  let used = 0;
  return (bytes) => {
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
  };
}
