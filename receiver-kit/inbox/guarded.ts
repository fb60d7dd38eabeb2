/**
 * `target` as a handler may use it: `members` are in place of its own, and what a handler sets or freezes is not set or
 * frozen on the target itself. Its methods run on it.
 */
export function guarded<Target extends object>(
  target: Target,
  members: Readonly<Record<string, unknown>>,
): Target {
  const own: object = Object.assign(Object.create(Object.getPrototypeOf(target)), members);
  return new Proxy(own, {
    get(_, property) {
      const owner = Object.hasOwn(own, property) ? own : target;
      const value: unknown = Reflect.get(owner, property, owner);
      const isMethod = typeof value === "function" && owner === target && property !== "constructor";
      return isMethod ? value.bind(target) : value;
    },
    has: (_, property) => property in own || property in target,
  }) as Target;
}
