import { utf8 } from "@workspace-tasks/kernel/bytes.ts";
import fastSha256 from "fast-sha256";
import type { Platform } from "../../../mock-server/create-mock.ts";

const toHex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const unreachable = { status: null, error: "no receiver of this page has this URL" } as const;

/** A mock in a browser: no port, no inspector of its own, and deliveries to functions alone. */
export const webPlatform: Platform = {
  hashing: {
    sha256: (text) => toHex(fastSha256.hash(utf8(text))),
    hmacSha256: (key, text) => fastSha256.hmac(key, utf8(text)),
  },
  pageFiles: () => new Map(),
  createTransport: () => ({
    deliver: async () => unreachable,
    read: async () => unreachable,
    abort: () => {},
  }),
  listen: async () => null,
};
