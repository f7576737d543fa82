import { pathFromCaller } from '@flotilla/runtime';

/** Resolves a path of the command line; see `pathFromCaller`. */
export const callersPath = (path: string): string => pathFromCaller(path, process.env);

/** Kubeconfig of the caller's environment, for commands without the option. */
export const readKubeconfig = (): string | undefined => process.env.KUBECONFIG || undefined;
