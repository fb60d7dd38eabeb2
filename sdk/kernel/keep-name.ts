/** Gives a class its name again in a bundle that is minified, where it has another: errors have the names of their classes. */
export const keepName = (type: new (...args: never[]) => unknown, name: string) =>
  Object.defineProperty(type, "name", { value: name });
