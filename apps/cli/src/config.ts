import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import { pathFromCaller, proxiesOf, proxySettings } from '@flotilla/runtime';

/** A path of the command line; see `pathFromCaller`. */
export const callersPath = (path: string): string => pathFromCaller(path, process.env);

/** Kubeconfigs of whoever runs the command, where no option names one: those of KUBECONFIG, else the one in the home folder. */
export function readKubeconfigs(): string[] {
  const named = (process.env.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  if (named.length > 0) return named.map(callersPath);
  const usual = join(homedir(), '.kube', 'config');
  return existsSync(usual) ? [usual] : [];
}

/** Folder for what may be asked for again: below XDG_CACHE_HOME, else in the home folder. */
export const readCacheFolder = (): string => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'flotilla', 'registry');

/**
 * Proxies for registries, by HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
 * @throws FlotillaError `FLOTILLA_CONFIG` with the variable that is no URL of a proxy
 */
export function readProxies(env: NodeJS.ProcessEnv = process.env) {
  const { data, error } = proxySettings.safeParse(proxiesOf(env));
  if (data) return data;
  const problems = error.issues.map(({ path, message }) => `${String(path[0]).toUpperCase()}_PROXY ${message}`);
  throw new FlotillaError('FLOTILLA_CONFIG', problems.join('; '));
}

/** Settings of the terminal in the environment. */
export const readTerminal = (
  env: NodeJS.ProcessEnv = process.env,
): { readonly noColor: boolean; readonly columns: number | undefined; readonly hasUtf8: boolean } => ({
  noColor: (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb',
  columns: Number(env.COLUMNS) || undefined,
  // The first that is set counts, as for every program; without any the locale is C.
  hasUtf8: /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || ''),
});
