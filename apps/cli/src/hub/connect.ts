import { FlotillaError, type KubeObject, type Resource } from '@flotilla/api';
import { MAX_TIMEOUT_MS } from '@flotilla/pace';
import { type Client, createClient, isNotFound, mergeKubeconfigs, readContextNamespace } from '@flotilla/runtime';
import { callersPath, readKubeconfigs } from '../config.ts';
import type { AccessOptions } from './options.ts';

/** A server, and the namespace that is meant: the one that is named, else that of the context. */
interface Connected extends AsyncDisposable {
  readonly client: Client;
  readonly namespace: string;
  /**
   * The object that an argument names: by its name, or as `namespace/name`, which is how tables print it.
   * @throws FlotillaError `FLOTILLA_CONFIG` where an option names another namespace
   */
  readonly refOf: (argument: string) => { readonly namespace: string; readonly name: string };
}

const NO_KUBECONFIG = 'no kubeconfig: name one with --kubeconfig, in KUBECONFIG, or put it at ~/.kube/config';

/**
 * Opens a client as kubectl would: with `--kubeconfig`, else the files of KUBECONFIG, else the one in the home folder, else as a pod.
 * @throws FlotillaError `FLOTILLA_CONFIG` naming what is missing
 */
export function connect(options: AccessOptions & { readonly namespace?: string | undefined }): Connected {
  const { kubeconfig, context, namespace } = options;
  const paths = kubeconfig === undefined ? readKubeconfigs() : [callersPath(kubeconfig)];
  const source = paths.length > 1 ? { kubeconfig: mergeKubeconfigs(paths), context } : { kubeconfigPath: paths[0], context };
  try {
    const client = createClient({
      ...source,
      ...callsOf(options),
      userAgent: 'flotilla-cli',
      waitsForLogin: true,
      onInvalid: () => undefined,
    });
    const meant = namespace ?? readContextNamespace(source) ?? 'default';
    const refOf = (argument: string) => readRef(argument, namespace) ?? { namespace: meant, name: argument };
    return { client, namespace: meant, refOf, [Symbol.asyncDispose]: () => client.close() };
  } catch (error) {
    if (paths.length > 0) throw error;
    throw new FlotillaError('FLOTILLA_CONFIG', NO_KUBECONFIG, { cause: error });
  }
}

/** As whom calls are made, and how long each may take: for ever with 0, as by kubectl. */
function callsOf({ as: actAs, asGroup: actAsGroups, asUid: actAsUid, requestTimeout }: AccessOptions) {
  if (actAs === undefined && (actAsGroups !== undefined || actAsUid !== undefined))
    throw new FlotillaError('FLOTILLA_CONFIG', '--as-group and --as-uid belong to a user: name one with --as');
  return { actAs, actAsGroups, actAsUid, timeoutMs: requestTimeout === 0 ? MAX_TIMEOUT_MS : requestTimeout };
}

/** @param given namespace of an option */
function readRef(argument: string, given: string | undefined): { readonly namespace: string; readonly name: string } | undefined {
  const [namespace = '', name, ...more] = argument.split('/');
  if (name === undefined) return undefined;
  if (namespace === '' || name === '' || more.length > 0)
    throw new FlotillaError('FLOTILLA_CONFIG', `${JSON.stringify(argument)} is no name: write NAME, or NAMESPACE/NAME`);
  if (given !== undefined && given !== namespace)
    throw new FlotillaError(
      'FLOTILLA_CONFIG',
      `${argument} is in namespace ${namespace}, and --namespace is ${given}: leave one of them out`,
    );
  return { namespace, name };
}

type Listing<T extends KubeObject> = Parameters<Client['list']>[1] & { readonly transform?: (object: T) => T };

/** Lists the objects of a kind; undefined where the server does not serve it. */
export async function listServed<T extends KubeObject>(
  client: Client,
  kind: Resource<T>,
  options: Listing<T> = {},
): Promise<T[] | undefined> {
  try {
    return (await client.list(kind, options)).items;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
