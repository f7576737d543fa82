import { resolve } from 'node:path';

/** A path of the command line, from where the command was typed: npm runs it in the repository's own folder. */
export const pathFromCaller = (path: string): string => resolve(process.env.INIT_CWD ?? '.', path);
