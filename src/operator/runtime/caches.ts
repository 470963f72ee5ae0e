/** Caches the result for each object. The objects must be immutable. */
export function memoize<K extends object, V>(of: (object: K) => V): (object: K) => V {
  const known = new WeakMap<K, { value: V }>();
  return (object) => {
    const answer = known.get(object) ?? { value: of(object) };
    known.set(object, answer);
    return answer.value;
  };
}

/** Keeps at most `most` entries: drops the one that was added first. */
export function dropOldest<K>(entries: Map<K, unknown> | Set<K>, most: number): void {
  const [oldest] = entries.keys();
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
}

/** Sets an entry as the newest of at most `most`. */
export function setNewest<K, V>(entries: Map<K, V>, key: K, value: V, most: number): void {
  entries.delete(key);
  entries.set(key, value);
  dropOldest(entries, most);
}
