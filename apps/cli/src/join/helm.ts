import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { errorMessage, FlotillaError } from '@flotilla/api';
import type { ServerAddress } from '@flotilla/runtime';
import { callersPath } from '../config.ts';
import { SECRET, SECRET_KEY } from './agent-secret.ts';
import type { JoinOptions } from './options.ts';

const RELEASE = 'flotilla-spoke';
const run = promisify(execFile);

/** Builds helm's arguments that install the agent, or with `template` print its objects. */
export function helmArguments(options: JoinOptions, address: ServerAddress): string[] {
  const { name, image, imageRegistry, namespace, values, chart, print, spokeKubeconfig, spokeContext } = options;
  const context = spokeContext === undefined ? [] : ['--kube-context', spokeContext];
  // A pod reads the address once, so a new address must replace the pod; a new token must not.
  const hash = createHash('sha256').update(`${address.server} ${address.certificateAuthority}`).digest('hex').slice(0, 16);
  const set: [string, string | undefined][] = [
    ['clusterName', name],
    ['hub.kubeconfigSecret', SECRET],
    ['hub.kubeconfigKey', SECRET_KEY],
    ['image.repository', image?.repository],
    ['image.tag', image?.tag],
    // Empty, so that a tag wins over the digest of a released chart.
    ['image.digest', image && (image.digest ?? '')],
    ['imageRegistry', imageRegistry],
    ['podAnnotations.flotilla\\.io/hub', hash],
  ];
  return [
    ...(print ? ['template', RELEASE, chart] : ['upgrade', '--install', RELEASE, chart, '--kubeconfig', spokeKubeconfig ?? '', ...context]),
    '--namespace',
    namespace,
    ...(values === undefined ? [] : ['--values', values]),
    '--set',
    'hub.renewToken=true',
    ...set.flatMap(([key, value]) => (value === undefined ? [] : ['--set-string', `${key}=${value}`])),
  ];
}

/** Runs helm and returns its output; undefined when this machine has no helm. Throws `FLOTILLA_HELM` with its complaint. */
export async function runHelm(args: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout } = await run('helm', args, { cwd: callersPath('.'), timeout: 120_000, maxBuffer: 16 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new FlotillaError('FLOTILLA_HELM', `helm ${args[0]} failed: ${errorMessage(error)}`);
  }
}

/** Renders these arguments as a shell command. */
export const helmCommand = (args: readonly string[]): string =>
  ['helm', ...args].map((arg) => (/^[\w./:=@%+,-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`)).join(' ');
