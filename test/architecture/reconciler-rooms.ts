import { dirname } from 'node:path';

const FIVE = ['reconciler', 'observe', 'plan', 'apply', 'status'];

/** Excuse of a room: the files that it lacks, and why. */
export type Excuse = readonly [lacks: string, because: string];

/**
 * Lists the files that are missing of the five where an app starts a reconciler, as `folder: apply, status`; a folder of `excused` may miss those of its excuse.
 * An excuse that is not needed any more, or excuses more than is missing, is in the answer too.
 */
export function incompleteRooms(texts: ReadonlyMap<string, string>, excused: ReadonlyMap<string, Excuse>): string[] {
  const starting = [...texts].filter(([file, text]) => isProgram(file) && STARTS.test(text));
  const rooms = new Map([...new Set(starting.map(([file]) => dirname(file)))].map((room) => [room, missingOf(room, texts).join(', ')]));
  const incomplete = [...rooms].filter(([room, missing]) => missing !== '' && missing !== excused.get(room)?.[0]);
  const needless = [...excused.keys()].filter((room) => !rooms.get(room));
  return [...incomplete.map(([room, missing]) => `${room}: ${missing}`), ...needless.map((room) => `${room}: needs no excuse`)];
}

const STARTS = /\bstartReconciler\(/;
const isProgram = (file: string): boolean => /^apps\/[^/]+\/src\//.test(file) && !file.endsWith('.test.ts');

const missingOf = (room: string, texts: ReadonlyMap<string, string>): string[] => FIVE.filter((name) => !texts.has(`${room}/${name}.ts`));

/** Handlers of trouble that tell nobody: none, an empty one, or the one that leaves it to the log. */
const UNTOLD = /\bonTrouble: (?:logOnly|(?:async )?\([^)]*\) => (?:\{\s*\}|undefined)(?=[,\s]))/;

/** Sources of programs whose reconciler keeps trouble to itself, but for the excused ones, and excuses that are not needed. */
export function silentReconcilers(texts: ReadonlyMap<string, string>, excused: ReadonlyMap<string, string>): string[] {
  const silent = [...texts]
    .filter(([file, text]) => isProgram(file) && STARTS.test(text) && (!/\bonTrouble\b/.test(text) || UNTOLD.test(text)))
    .map(([file]) => file);
  return [
    ...silent.filter((file) => !excused.has(file)),
    ...[...excused.keys()].filter((file) => !silent.includes(file)).map((file) => `${file}: needs no excuse`),
  ];
}

/** Files beside the five of a room whose name, or its last word, is no noun of the field: `room/file.ts`. `observe-x.ts` and `status-x.ts` are of the five. */
export function strangeFiles(files: readonly string[], nouns: ReadonlySet<string>): string[] {
  const rooms = new Set(files.filter((file) => isProgram(file) && file.endsWith('/reconciler.ts')).map((file) => dirname(file)));
  return files.filter((file) => {
    const words = /([a-z-]+)\.ts$/.exec(file)?.[1]?.split('-') ?? [];
    return isProgram(file) && rooms.has(dirname(file)) && !FIVE.includes(words[0] ?? '') && !nouns.has(words.at(-1) ?? '');
  });
}
