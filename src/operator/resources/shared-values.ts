/** The strings, objects and lists used last; objects and lists by their JSON. */
const strings = new Map<string, string>();
const values = new Map<string, object>();

/** Some 100 kB each. */
const mostKnown = 1000;

/** A longer string is seldom the same in two objects. */
const mostCharacters = 64;

/** An object or list with more members is seldom the same as another. */
const mostMembers = 4;

/**
 * Replaces strings and small objects and lists within `value`, which must be the caller's own, by equal ones of earlier
 * calls: a thousand Computes have the same size, region and messages, and one copy of each is enough. Small objects and
 * lists are frozen.
 */
export function shareWithin(value: object): void {
  for (const [name, member] of Object.entries(value)) {
    const shared = sharedCopyOf(member);
    if (shared !== member || typeof member === "string") Reflect.set(value, name, shared);
  }
}

function sharedCopyOf(value: unknown): unknown {
  if (typeof value === "string") return value.length > mostCharacters ? value : sharedIn(strings, value, value);
  if (typeof value !== "object" || value === null) return value;
  shareWithin(value);
  const members: unknown[] = Object.values(value);
  if (members.length > mostMembers || !members.every(isShared)) return value;
  return sharedIn(values, JSON.stringify(value), Object.freeze(value));
}

/** A member that JSON shows as it is, and that does not change. */
function isShared(member: unknown): boolean {
  return typeof member === "object" ? Object.isFrozen(member) : member !== undefined;
}

function sharedIn<T>(known: Map<string, T>, key: string, value: T): T {
  const shared = known.get(key) ?? value;
  known.delete(key);
  known.set(key, shared);
  const [oldest] = known.keys();
  if (known.size > mostKnown && oldest !== undefined) known.delete(oldest);
  return shared;
}
