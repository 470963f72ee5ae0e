/** Keeps at most `most` entries: drops the one that was added first, and returns its key. */
export function dropOldest<K>(entries: Map<K, unknown> | Set<K>, most: number): K | undefined {
  if (entries.size <= most) return undefined;
  const [oldest] = entries.keys();
  if (oldest !== undefined) entries.delete(oldest);
  return oldest;
}
