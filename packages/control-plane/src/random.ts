/** A seeded source of numbers in [0, 1) (mulberry32): the same seed and text give the same run. */
export function createRandom(seed: number, text = ''): () => number {
  let state = seed | 0;
  for (const char of text) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** An id in the shape of a UUID. */
export function randomUid(random: () => number): string {
  const hex = Array.from({ length: 4 }, () =>
    Math.floor(random() * 4294967296)
      .toString(16)
      .padStart(8, '0'),
  ).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}
