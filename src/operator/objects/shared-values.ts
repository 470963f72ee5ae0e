/** Values that were asked for of late, by their text; those that nobody asks for any more are forgotten in the end. */
class LatelyUsed<T> {
  #newer = new Map<string, T>();
  #older = new Map<string, T>();

  /** The value of this text; `value` if there was none. */
  get(text: string, value: T): T {
    const found = this.#newer.get(text);
    if (found !== undefined) return found;
    const shared = this.#older.get(text) ?? value;
    if (this.#newer.size === mostNewer) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(text, shared);
    return shared;
  }
}

/** Some 100 kB. */
const mostNewer = 1000;

const strings = new LatelyUsed<string>();
/** Objects and lists, by their JSON. */
const values = new LatelyUsed<object>();

/** A longer string is seldom the same in two objects. */
const mostCharacters = 64;

/** An object or list with more members is seldom the same as another, but below these: a fleet has few of them. */
const mostMembers = 4;
const mostMembersBelow: Readonly<Record<string, number>> = { schedule: 8, disruption: 8 };

/**
 * Replaces strings and small objects and lists within `value`, which must be the caller's own, by equal ones of earlier
 * calls: a thousand Computes have the same size, region and messages, and one copy of each is enough. Small objects and
 * lists are frozen.
 */
export function shareWithin(value: object, most = mostMembers): void {
  for (const [name, member] of Object.entries(value)) {
    const shared = sharedCopyOf(member, mostMembersBelow[name] ?? most);
    // Two equal strings may be two copies, and cannot be told apart.
    if (shared !== member || typeof member === "string") Reflect.set(value, name, shared);
  }
}

function sharedCopyOf(value: unknown, most: number): unknown {
  if (typeof value === "string") return value.length > mostCharacters ? value : strings.get(value, value);
  if (typeof value !== "object" || value === null) return value;
  shareWithin(value, most);
  const members: unknown[] = Object.values(value);
  if (members.length > most || !members.every(isShared)) return value;
  return values.get(JSON.stringify(value), Object.freeze(value));
}

/** A member that JSON shows as it is, that does not change, and that is short: thousands are remembered, with JSON. */
function isShared(member: unknown): boolean {
  if (typeof member === "string") return member.length <= mostCharacters;
  return typeof member === "object" ? Object.isFrozen(member) : member !== undefined;
}
