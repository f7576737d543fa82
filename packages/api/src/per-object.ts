/**
 * Remembers the result for each object, until nobody holds the object any more. For objects that nobody changes, such as those of a watch cache, about
 * which thousands of callers ask the same.
 * @param of pure; what it throws is not remembered
 */
export function perObject<K extends object, V>(of: (object: K) => V): (object: K) => V {
  const results = new WeakMap<K, { readonly value: V }>();
  return (object) => {
    const known = results.get(object);
    if (known) return known.value;
    const value = of(object);
    results.set(object, { value });
    return value;
  };
}
