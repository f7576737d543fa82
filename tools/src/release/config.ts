import { pathFromCaller } from '@flotilla/runtime';

/** Resolves a path of the command line; see `pathFromCaller`. */
export const callersPath = (path: string): string => pathFromCaller(path, process.env);

/** Docker's config.json as text, where a variable has it instead of a file. */
export const readAuthVariable = (): string | undefined => process.env.DOCKER_AUTH_CONFIG || undefined;
