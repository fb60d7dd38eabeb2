// What the receiver kit uses of the globals of Node; imported before it.

import { Buffer } from "buffer/index.js";

const nothing = () => {};
Object.assign(globalThis, {
  Buffer,
  process: { off: nothing, prependListener: nothing, listeners: () => [], listenerCount: () => 0 },
});
