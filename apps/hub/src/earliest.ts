/** The earliest of times, or the shortest of spans, in milliseconds; undefined when none is known. */
export const earliest = (...times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
};
