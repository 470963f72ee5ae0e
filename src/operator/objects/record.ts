/** True for an object with members; a list is none. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of what somebody sent; none where it has none. */
export function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** True if two values are the same once written as JSON: order of members and absent members do not count. */
export function sameJSON(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item: unknown, index) => sameJSON(item ?? null, b[index] ?? null))
    );
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  const names = Object.keys(a);
  if (!names.every((name) => sameJSON(a[name], Object.hasOwn(b, name) ? b[name] : undefined))) return false;
  return Object.keys(b).every((name) => b[name] === undefined || Object.hasOwn(a, name));
}
