import { pathFromCaller } from '@flotilla/runtime';

/** A path of the command line; see `pathFromCaller`. */
export const callersPath = (path: string): string => pathFromCaller(path, process.env);

/** Kubeconfig of whoever runs the command, where no option names one. */
export const readKubeconfig = (): string | undefined => process.env.KUBECONFIG || undefined;
