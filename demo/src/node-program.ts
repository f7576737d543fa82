import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '@flotilla/control-plane/processes';
import { type Client, requestToken } from '@flotilla/runtime';
import { renderKubeconfig } from './kubeconfig.ts';
import type { NodeContainer, NodePod } from './node-pod.ts';

/** Programs a node can run, by the last part of their image's name. */
const APPS = ['hub', 'spoke-agent', 'image-puller'] as const;
/** One of them. */
type NodeApp = (typeof APPS)[number];

/** The program of an image; undefined for an image that is not ours. */
export const programOf = (image: string): NodeApp | undefined => APPS.find((app) => new RegExp(`/${app}[@:]`).test(image));

/** A pod's process. */
export interface NodeProgram {
  /** Exit code; 128 + signal as a container runtime says it. */
  readonly exited: Promise<number>;
  /** File of the termination message. */
  readonly terminationLog: string;
  /** SIGTERM, after 5 s SIGKILL. */
  stop(): Promise<void>;
}

/** Options of a process. */
interface NodeProgramOptions {
  readonly app: NodeApp;
  readonly pod: NodePod;
  readonly container: NodeContainer;
  readonly dir: string;
  /** Mount path → folder. */
  readonly mounts: ReadonlyMap<string, string>;
  readonly client: Client;
  readonly server: { readonly url: string; readonly certificateAuthority: string };
  readonly name: string;
  readonly storeDir: string;
  readonly translate: (text: string) => string;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SETPRIV = '/usr/bin/setpriv';

/** Starts a pod's program from the sources; its output goes to `log` in its folder. */
export async function startNodeProgram(options: NodeProgramOptions): Promise<NodeProgram> {
  const { app, dir } = options;
  const terminationLog = join(dir, 'termination-log');
  await writeFile(terminationLog, '');
  const env = {
    PATH: readEnvironment().path,
    HOME: homedir(),
    ...podEnvironment(options),
    ...(await nodeEnvironment(options, terminationLog)),
  };
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', join(ROOT, 'apps', app, 'src/main.ts')];
  // Where there is setpriv, the kernel ends the process with us.
  const [program = '', ...args] = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL', '--', ...command] : command;
  await using log = await open(join(dir, 'log'), 'a');
  const child = spawn(program, args, { cwd: dir, env, stdio: ['ignore', log.fd, log.fd], detached: true });
  const exited = new Promise<number>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGKILL' ? 137 : 143)));
    child.once('error', () => resolve(127));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await exited;
    clearTimeout(timer);
  };
  return { exited, terminationLog, stop };
}

/** The container's variables, its paths turned to where the node put the files. */
function podEnvironment({ pod, container, mounts, name, translate }: NodeProgramOptions): Record<string, string> {
  const fields: Readonly<Record<string, string | undefined>> = {
    'metadata.name': pod.metadata.name,
    'metadata.namespace': pod.metadata.namespace,
    'spec.nodeName': name,
  };
  const place = (value: string) => {
    for (const [path, folder] of mounts) if (value === path || value.startsWith(`${path}/`)) return folder + value.slice(path.length);
    return translate(value);
  };
  return Object.fromEntries(
    container.env.map(({ name: variable, value, valueFrom }) => [
      variable,
      value === undefined ? (fields[valueFrom?.fieldRef?.fieldPath ?? ''] ?? '') : place(value),
    ]),
  );
}

/** Builds the variables of a node: access to its own API server, free ports, and the layout instead of a runtime. */
async function nodeEnvironment(options: NodeProgramOptions, terminationLog: string): Promise<Record<string, string>> {
  const kubeconfig = await accessOf(options);
  // A node runs the first container of a pod alone: no Redis is beside the hub.
  if (options.app === 'hub') return { KUBECONFIG: kubeconfig, HTTP_PORT: '0', HTTP_HOST: '127.0.0.1', REDIS_URL: '' };
  if (options.app === 'spoke-agent') return { SPOKE_KUBECONFIG: kubeconfig, HEALTH_PORT: '0' };
  return { KUBECONFIG: kubeconfig, STORE: 'layout', LAYOUT_DIR: options.storeDir, TERMINATION_LOG: terminationLog };
}

/** A kubeconfig with the rights of the pod's ServiceAccount, as the kubelet would mount its token. */
async function accessOf({ client, pod, server, dir }: NodeProgramOptions): Promise<string> {
  const account = { namespace: pod.metadata.namespace ?? 'default', name: pod.spec.serviceAccountName };
  const file = join(dir, 'kubeconfig');
  const text = renderKubeconfig({
    server: server.url,
    certificateAuthority: server.certificateAuthority,
    token: await requestToken(client, account, 86_400),
  });
  await writeFile(file, text, { mode: 0o600 });
  return file;
}
