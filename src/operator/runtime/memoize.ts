/** Caches the result for each object. The objects must be immutable. */
export function memoize<K extends object, V>(of: (object: K) => V): (object: K) => V {
  const known = new WeakMap<K, { value: V }>();
  return (object) => {
    const answer = known.get(object) ?? { value: of(object) };
    known.set(object, answer);
    return answer.value;
  };
}
