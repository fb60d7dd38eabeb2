// What the receiver kit uses of `node:util`.
export const types = { isUint8Array: (value: unknown): boolean => value instanceof Uint8Array };
