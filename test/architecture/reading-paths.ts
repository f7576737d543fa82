import { declarationsOf, resolveImport, type SourceGraph } from '../../tools/src/source-graph.ts';

/** A file of a reading path. */
interface PathFile {
  readonly path: string;
  /** Carriage that leads to it where no call does: `by the queue`. */
  readonly hop?: string | undefined;
  /** Interface through which it is called. */
  readonly through?: string | undefined;
}

/** A room of a reading path; `above` is the room that calls it. */
interface PathRoom {
  readonly room: string;
  readonly files: readonly PathFile[];
  readonly above?: PathRoom | undefined;
  /** Another room takes its place on the path. */
  readonly isInstead: boolean;
}

/** A value on its way through the sources. */
interface ReadingPath {
  readonly title: string;
  readonly rooms: readonly PathRoom[];
}

/** Reads the paths below a heading `## Reading paths`: a heading each, and nested lists of rooms, each with its files. */
export function readingPathsIn(document: string): ReadingPath[] {
  const [, section = ''] = /^## Reading paths$([\s\S]*?)^## /m.exec(document) ?? [];
  const [, ...paths] = section.split(/^### /m);
  return paths.map((text) => ({ title: text.split('\n', 1)[0] ?? '', rooms: roomsIn(text) }));
}

function roomsIn(text: string): PathRoom[] {
  const rooms: PathRoom[] = [];
  const open: { readonly indent: number; readonly room: PathRoom }[] = [];
  for (const [, indent = '', item = ''] of text.matchAll(/^( *)(?:\d+\.|-) (.+(?:\n +(?! |\d+\.|-).+)*)/gm)) {
    while ((open.at(-1)?.indent ?? -1) >= indent.length) open.pop();
    const room = roomOf(item.replaceAll(/\s+/g, ' '), open.at(-1)?.room);
    rooms.push(room);
    open.push({ indent: indent.length, room });
  }
  return rooms;
}

function roomOf(item: string, above: PathRoom | undefined): PathRoom {
  const [, hop, room = '', instead, rest = ''] = /^(?:(By [^,`]+), )?`([^`]+)`(, instead)?: (.*)$/.exec(item) ?? [];
  const files = rest.split('; ').map((clause, at): PathFile => {
    const [, own, through, file = clause] = /^(?:(by [^,`]+), |through `(\w+)`, )?`([^`]+\.ts)`/.exec(clause) ?? [];
    return { path: `${room}/${file}`, hop: own ?? (at === 0 ? hop : undefined), through };
  });
  return { room, files, above, isInstead: instead !== undefined };
}

/** Places where a path does not lead on: a file that does not exist, or that neither imports nor is imported by what leads to it. */
export function brokenPlaces({ title, rooms }: ReadingPath, graph: SourceGraph): string[] {
  const taken = new Map<string, ReadonlySet<string>>();
  const isLinked = (one: string, other: string): boolean => takenBy(one, graph, taken).has(other) || takenBy(other, graph, taken).has(one);
  const names = (path: string, word: string): boolean => new RegExp(`\\b${word}\\b`).test(graph.modules.get(path)?.text ?? '');
  return rooms.flatMap(({ files, above }, at) =>
    files.flatMap(({ path, hop, through }, index) => {
      if (!graph.modules.has(path)) return [`${title}: ${path} does not exist`];
      if (hop !== undefined || (at === 0 && index === 0)) return [];
      const before = [...(above?.files ?? []), ...files.slice(0, index)].map((file) => file.path);
      const isCalled = before.some((other) =>
        through === undefined ? isLinked(other, path) : names(other, through) && names(path, through),
      );
      return isCalled ? [] : [`${title}: nothing above leads to ${path}${through === undefined ? '' : ` through ${through}`}`];
    }),
  );
}

/** Files whose names a file imports, also by the index of a package. */
function takenBy(file: string, graph: SourceGraph, known: Map<string, ReadonlySet<string>>): ReadonlySet<string> {
  const found =
    known.get(file) ?? new Set((graph.modules.get(file)?.imports ?? []).flatMap(({ to, names }) => declaredBy(graph, file, { to, names })));
  known.set(file, found);
  return found;
}

function declaredBy(
  graph: SourceGraph,
  file: string,
  { to, names }: { readonly to: string; readonly names?: readonly string[] | undefined },
): string[] {
  const target = resolveImport(graph, file, to);
  return target === undefined ? [] : [target, ...declarationsOf(graph, target, names).map((declared) => declared.file)];
}

/** Files of a path, without rooms that another one stands for. */
export const lengthOf = ({ rooms }: ReadingPath): number =>
  rooms.reduce((sum, { files, isInstead }) => sum + (isInstead ? 0 : files.length), 0);

/** Rooms that a path enters more than once. */
export function roomsEnteredTwice({ rooms }: ReadingPath): string[] {
  const names = rooms.map(({ room }) => room);
  return [...new Set(names.filter((room, at) => names.indexOf(room) !== at))];
}
