/** A comment, or a line of one, that opens with a clause instead of its subject. */
const CLAUSE = /^\s*(?:\/\*\*?|\*|\/\/) ?(?:What|How|Whoever|Whose|Of|Who) /;

/** Lists the comments in these rooms that open with a clause, as `file:line`. A reader must find the subject of a sentence first. */
export function clauseOpenings(texts: ReadonlyMap<string, string>, rooms: readonly string[]): string[] {
  const inRooms = [...texts].filter(([file]) => rooms.some((room) => file.startsWith(`${room}/`)));
  return inRooms.flatMap(([file, text]) => text.split('\n').flatMap((line, index) => (CLAUSE.test(line) ? [`${file}:${index + 1}`] : [])));
}
