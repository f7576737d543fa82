import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type CommandOptions, runCommand } from '../../processes/command.ts';
import { identify, isAlive, type ProcessIdentity } from '../../processes/identity.ts';
import { waitUntilReady } from '../../processes/readiness.ts';
import { type ServerProcess, startServerProcess } from '../../processes/server-process.ts';
import type { RuntimeName } from '../../toolchain/debian-packages.ts';

/**
 * The machine a cluster believes to have: network, mount and process namespaces of its own, and folders of its own at
 * `/run`, `/var/lib` and `/var/log`, so that the runtime's socket and store are where they are on any node. All of it hangs
 * on one first process: when that dies, the kernel ends every process inside (shims and pods too) and the mounts and links go.
 */
export interface NodeSpace {
  /** Pid of the first process, as seen from outside. */
  readonly pid: number;
  /** Starts a server inside; its log is `<name>.log` in the cluster's folder. */
  start(name: string, program: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<ServerProcess>;
  /** Runs a command inside to its end. */
  run(program: string, args: readonly string[], options?: CommandOptions): Promise<string>;
  /** Ends everything inside at once; resolves when no process is left. */
  stop(): Promise<void>;
}

/** Values the kubelet insists on and would otherwise write into the whole machine's kernel. */
const KUBELET_SYSCTLS = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

/** `/etc` is the machine's, with what lies in the cluster's `etc` over it; the configuration of registries changes while the node runs. */
const SCRIPT = `set -e
dir=$1 init=$2 runtime=$3
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$dir/etc,workdir=$dir/etc-work" /etc
mount --bind "$dir/run" /run
mount --bind "$dir/var-lib" /var/lib
mount --bind "$dir/var-log" /var/log
if [ "$runtime" = crio ]; then
  # As systemd leaves them; CRI-O refuses to mount its own store into a pod otherwise. Nothing is shared with the machine.
  mount --make-rshared /
  mount --bind "$dir/etc-containers" /etc/containers
  # crun refuses the mixture of both versions; without its second half it is plain version 1. crun makes folders here all the same.
  if mountpoint -q /sys/fs/cgroup/unified; then mount -t tmpfs tmpfs /sys/fs/cgroup/unified; fi
fi
for f in "$dir"/sysctl/*; do
  target=/proc/sys/$(basename "$f" | tr . /)
  if [ -e "$target" ]; then mount --bind "$f" "$target"; fi
done
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
: >"$dir/run/up"
exec "$init"`;

/** Makes the namespaces. `init` is the program that becomes their first process; `etc` has the files that the node has of its own there. */
export async function createNodeSpace(dir: string, init: string, etc: NodeEtc): Promise<NodeSpace> {
  const folders = ['run/netns', 'run/lock', 'var-lib', 'var-log', 'sysctl', 'etc-work'];
  for (const folder of folders) await mkdir(join(dir, folder), { recursive: true });
  await writeEtc(dir, etc);
  for (const [name, value] of Object.entries(KUBELET_SYSCTLS))
    await writeFile(join(dir, 'sysctl', name.replaceAll('/', '.')), `${value}\n`);
  const args = ['--mount', '--net', '--pid', '--uts', '--ipc', '--fork', '--kill-child=KILL', '--mount-proc', '--propagation', 'private'];
  const holder = await startServerProcess({
    name: 'node namespaces',
    program: 'unshare',
    args: [...args, '/bin/sh', '-c', SCRIPT, 'sh', dir, init, etc.runtime],
    logFile: join(dir, 'namespaces.log'),
  });
  try {
    await waitUntilReady({
      what: 'the namespaces of a node',
      processes: [holder],
      timeoutMs: 10_000,
      intervalMs: 10,
      check: async () => (await readFile(join(dir, 'run/up'))).length === 0,
    });
    const first = await identify(Number(await readFile(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8')));
    if (!first) throw new Error('the first process of a node ended at once');
    return nodeSpace(dir, holder, first);
  } catch (error) {
    await holder.stop({ signal: 'SIGKILL' });
    throw error;
  }
}

function nodeSpace(dir: string, holder: ServerProcess, first: ProcessIdentity): NodeSpace {
  // Not `ip netns exec`: it mounts a new /sys, which hides the cgroups from kubelet and runc.
  const enter = ['--target', String(first.pid), '--mount', '--net', '--pid', '--uts', '--ipc', '--'];
  return {
    pid: first.pid,
    start: async (name, program, args, env = {}) =>
      endInside(
        await startServerProcess({ name, program: 'nsenter', args: [...enter, program, ...args], logFile: join(dir, `${name}.log`), env }),
      ),
    run: (program, args, options) => runCommand('nsenter', [...enter, program, ...args], options),
    async stop() {
      await holder.stop({ signal: 'SIGKILL' });
      // The first process is reaped only after every other one of its namespace has ended.
      const end = performance.now() + 20_000;
      while ((await isAlive(first)) && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 10));
    },
  };
}

/** nsenter passes no signal on: the program inside, its only child, gets it, and nsenter ends with it. */
function endInside(server: ServerProcess): ServerProcess {
  const stop: ServerProcess['stop'] = async ({ signal = 'SIGTERM', graceMs = 5_000 } = {}) => {
    if (server.hasExited()) return;
    const program = Number(await readFile(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').catch(() => ''));
    if (!(program > 0)) return server.stop({ signal, graceMs });
    process.kill(program, signal);
    const timer = setTimeout(() => process.kill(program, 'SIGKILL'), graceMs);
    await server.exited;
    clearTimeout(timer);
  };
  return { ...server, stop, [Symbol.asyncDispose]: () => stop() };
}

/** Content of a node's own `/etc`. */
interface NodeEtc {
  readonly runtime: RuntimeName;
  /** Name → address. */
  readonly hosts: Readonly<Record<string, string>>;
  /** PEM of authorities that the node trusts besides those of the machine. */
  readonly trustedAuthorities: readonly string[];
}

/** The trust bundle of the distributions whose programs run here. */
const TRUST_BUNDLE = 'ssl/certs/ca-certificates.crt';
/** The same where a node of OpenShift has it. */
const OPENSHIFT_TRUST_BUNDLE = 'pki/ca-trust/extracted/pem/tls-ca-bundle.pem';

/** Writes the files that lie over the machine's `/etc` into the cluster's folder. */
async function writeEtc(dir: string, { runtime, hosts, trustedAuthorities }: NodeEtc): Promise<void> {
  const lines = Object.entries(hosts).map(([host, address]) => `${address} ${host}\n`);
  await write(dir, 'hosts', lines.join(''));
  const machine = await readFile(join('/etc', TRUST_BUNDLE), 'utf8').catch(() => '');
  const bundle = [machine, ...trustedAuthorities].join('\n');
  if (trustedAuthorities.length > 0) await write(dir, TRUST_BUNDLE, bundle);
  if (runtime !== 'crio') return;
  await write(dir, OPENSHIFT_TRUST_BUNDLE, bundle);
  await mkdir(join(dir, 'etc/containers'), { recursive: true });
  // The node mounts this folder at `/etc/containers`.
  await mkdir(join(dir, 'etc-containers'), { recursive: true });
}

async function write(dir: string, path: string, text: string): Promise<void> {
  const file = join(dir, 'etc', path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
