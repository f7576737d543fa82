import { resolve } from 'node:path';

/** A path of the command line, from where the command was typed: npm runs it in the repository's own folder. */
export const pathFromCaller = (path: string): string => resolve(process.env.INIT_CWD ?? '.', path);

/** Kubeconfig of whoever runs the command, where no option names one. */
export const readKubeconfig = (): string | undefined => process.env.KUBECONFIG || undefined;
