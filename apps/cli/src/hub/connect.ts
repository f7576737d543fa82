import { FlotillaError } from '@flotilla/api';
import { type Client, createClient, readContextNamespace } from '@flotilla/runtime';
import { callersPath, readKubeconfigs } from '../config.ts';
import type { AccessOptions } from './options.ts';

/** A server, and the namespace that its context means. */
interface Connected extends AsyncDisposable {
  readonly client: Client;
  readonly namespace: string;
}

const NO_KUBECONFIG = 'no kubeconfig: name one with --kubeconfig, in KUBECONFIG, or put it at ~/.kube/config';

/**
 * Opens a client as kubectl would: with `--kubeconfig`, else the files of KUBECONFIG, else the one in the home folder, else as a pod.
 * @throws FlotillaError `FLOTILLA_CONFIG` naming what is missing
 */
export function connect({ kubeconfig, context }: AccessOptions): Connected {
  const paths = kubeconfig === undefined ? readKubeconfigs() : [callersPath(kubeconfig)];
  try {
    const kubeconfigPath = chooseFile(paths, context);
    const client = createClient({ kubeconfigPath, context, userAgent: 'flotilla-cli', onInvalid: () => undefined });
    const namespace = readContextNamespace({ kubeconfigPath, context }) ?? 'default';
    return { client, namespace, [Symbol.asyncDispose]: () => client.close() };
  } catch (error) {
    if (paths.length > 0) throw error;
    throw new FlotillaError('FLOTILLA_CONFIG', NO_KUBECONFIG, { cause: error });
  }
}

/** Chooses the first of several files that has the context; the first of all when none is named. */
function chooseFile(paths: readonly string[], context: string | undefined): string | undefined {
  if (paths.length < 2 || context === undefined) return paths[0];
  return paths.find((kubeconfigPath) => hasContext(kubeconfigPath, context)) ?? paths[0];
}

function hasContext(kubeconfigPath: string, context: string): boolean {
  try {
    readContextNamespace({ kubeconfigPath, context });
    return true;
  } catch {
    return false;
  }
}
