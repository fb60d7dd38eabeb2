// As a property: an import by name would end an older Node before its version can be named.
import crypto from "node:crypto";
import type { Hashing } from "../world/random.ts";

export const nodeHashing: Hashing = {
  sha256: (text) => crypto.hash("sha256", text),
  hmacSha256: (key, text) => crypto.createHmac("sha256", key).update(text).digest(),
};
