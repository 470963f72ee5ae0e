/** The same answer without the work, for objects that are never changed, only replaced: each is worked out once. */
export function memoize<K extends object, V>(of: (object: K) => V): (object: K) => V {
  const known = new WeakMap<K, { value: V }>();
  return (object) => {
    const answer = known.get(object) ?? { value: of(object) };
    known.set(object, answer);
    return answer.value;
  };
}
