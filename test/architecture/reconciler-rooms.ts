import { dirname } from 'node:path';

const FIVE = ['reconciler', 'observe', 'plan', 'apply', 'status'];

/**
 * What is missing of the five files where an app starts a reconciler, as `folder: apply, status`; a folder of `excused` may miss some.
 * An excuse that is not needed any more is in the answer too.
 */
export function incompleteRooms(texts: ReadonlyMap<string, string>, excused: ReadonlyMap<string, string>): string[] {
  const starting = [...texts].filter(([file, text]) => isProgram(file) && /\bstartReconciler\(/.test(text));
  const rooms = new Map([...new Set(starting.map(([file]) => dirname(file)))].map((room) => [room, missingOf(room, texts)]));
  const incomplete = [...rooms].filter(([room, missing]) => missing.length > 0 && !excused.has(room));
  const needless = [...excused.keys()].filter((room) => !rooms.get(room)?.length);
  return [...incomplete.map(([room, missing]) => `${room}: ${missing.join(', ')}`), ...needless.map((room) => `${room}: needs no excuse`)];
}

const isProgram = (file: string): boolean => /^apps\/[^/]+\/src\//.test(file) && !file.endsWith('.test.ts');

const missingOf = (room: string, texts: ReadonlyMap<string, string>): string[] => FIVE.filter((name) => !texts.has(`${room}/${name}.ts`));
