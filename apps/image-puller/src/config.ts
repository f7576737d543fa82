import { errorMessage, TerminalError } from '@flotilla/api';
import { LEAST_BANDWIDTH, MOST_BANDWIDTH, NodeRules, PinWay, SpokeName } from '@flotilla/api/ran';
import type { RegistryRule } from '@flotilla/registry';
import { type OptionRows, option, proxyUrl, proxyVariables, readOptions, schemaOf } from '@flotilla/runtime';
import { z } from 'zod';
import { PullerErrorCode } from './errors.ts';

const host = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[^\s?#]+$/, 'must be host or host/path without a scheme')
  .refine((value) => !value.includes('://'), 'must be without a scheme');
const MirrorConfig = z.array(z.strictObject({ source: host, mirrors: z.array(host).max(20), insecure: z.boolean().optional() })).max(200);

/** `REGISTRY_CONFIG`: mirrors and plain-HTTP hosts of the node's runtime, as JSON. */
const Mirrors = z
  .string()
  .max(64 * 1024)
  .optional()
  .transform((value, context) => {
    if (value === undefined) return [];
    let json: unknown;
    try {
      json = JSON.parse(value);
    } catch {
      context.addIssue({
        code: 'custom',
        message: 'is not JSON; write [{"source":"registry.example","mirrors":["mirror:5000"],"insecure":true}]',
      });
      return z.NEVER;
    }
    const parsed = MirrorConfig.safeParse(json);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    context.addIssue({ code: 'custom', message: `${issue?.path.join('.')}: ${issue?.message}` });
    return z.NEVER;
  });

/** Turns `REGISTRY_CONFIG` into rules. An insecure source without mirrors, or with itself among them, uses plain HTTP itself. */
const toRules = (entries: z.output<typeof MirrorConfig>): RegistryRule[] =>
  entries.map(({ source, mirrors, insecure = false }) => ({
    prefix: source,
    scheme: insecure && (mirrors.length === 0 || mirrors.includes(source)) ? 'http' : 'https',
    mirrors: mirrors.map((location) => ({ location, scheme: insecure ? 'http' : 'https' })),
  }));

/** `NODES`: the nodes that this puller leads, as JSON. */
const Nodes = z
  .string()
  .max(16 * 1024)
  .optional()
  .transform((value, context) => {
    if (value === undefined || value === '') return undefined;
    try {
      return NodeRules.parse(JSON.parse(value));
    } catch (error) {
      context.addIssue({ code: 'custom', message: `is no node rules: ${errorMessage(error)}` });
      return z.NEVER;
    }
  });

/** Splits a list; empty words are dropped. */
const list = (separator: string) =>
  z
    .string()
    .max(8 * 1024)
    .default('')
    .transform((value) => value.split(separator).flatMap((word) => word.trim() || []));

/** Rows of docs/reference/options.md. */
export const options = {
  mode: [
    '<mode>',
    z.enum(['pull', 'prove', 'unpin', 'inspect']).default('pull'),
    '`pull`: puts the images of the spec into the store; `prove`: compares what the runtime has with what the last pull of the same spec has left; `unpin`: removes the pins of `--pin-for`, or without it those of every upgrade in the containerd of this node; `inspect`: says which layers of `layers.json.gz` in that folder the store has; all but `pull` ask no registry',
  ],
  specDir: ['<folder>', z.string().default('/etc/config'), 'folder with ConfigMap `pre-cache-spec`', 'CONFIG_VOLUME_PATH'],
  store: ['<store>', z.enum(['cri', 'layout']).default('cri'), "`cri`: the node's runtime; `layout`: an OCI layout directory"],
  criSocket: [
    '<list>',
    list(','),
    "sockets of the runtime, separated by `,`; the first that answers is used; containerd's, then CRI-O's when absent. Mount their directory: a restarted runtime makes its socket anew",
  ],
  storePath: ['<path>', z.string().optional(), "path on the store's file system, for the space check; what the runtime says when absent"],
  layoutDir: ['<folder>', z.string().default('/var/lib/flotilla/images'), 'for `layout`'],
  pullSecret: ['<file>', z.string().default('/var/lib/kubelet/config.json'), 'docker config; absent is fine', 'PULL_SECRET_PATH'],
  registryCa: ['<list>', list(':'), "PEM bundles trusted besides the system's, separated by `:`; at least one must be there"],
  registryConfig: [
    '<json>',
    Mirrors,
    'mirrors as JSON: `[{"source":"registry.example","mirrors":["10.0.0.1:5000"],"insecure":true}]`; it counts instead of what the node\'s files say about the same names and those below; a source that is `insecure` may also be storage to which a registry redirects for blobs',
  ],
  registriesConfDir: [
    '<folder>',
    z.string().default('/etc/containers'),
    "the node's `registries.conf` and `registries.conf.d/*.conf` (version 2), mounted read-only; absent is fine",
  ],
  registryCertsDirs: [
    '<list>',
    list(':'),
    'folders with `<host[:port]>/*.crt`, `*.cert` and `*.key`, separated by `:`; `certs.d` of the folder above, then `/etc/docker/certs.d` when absent',
  ],
  httpProxy: ['<url>', proxyUrl, 'proxy for registries over plain HTTP, also in lower case'],
  httpsProxy: ['<url>', proxyUrl, 'proxy for registries and token servers, also in lower case'],
  proxyBypass: [
    '<hosts>',
    z.string().optional(),
    "hosts and networks that are reached directly, as this machine's own addresses and the runtime's socket are always; also in lower case",
    'NO_PROXY',
  ],
  recordDir: [
    '<folder>',
    z.string().optional(),
    'folder of the node for records of what was pulled, which a proof compares with; none is kept when absent',
  ],
  pinFor: [
    '<uid>',
    z
      .string()
      .regex(/^[0-9a-f]([0-9a-f-]{0,61}[0-9a-f])?$/, 'is no uid; write letters a to f, digits and dashes')
      .optional(),
    'uid of the upgrade for which images are pinned, so that the kubelet does not collect them; absent: none is',
  ],
  pinBy: [
    '<way>',
    PinWay.default('runtime'),
    '`runtime`: by records in containerd, on each node; `pinned-image-set`: by PinnedImageSets of the cluster, which its machine config operator has CRI-O keep',
  ],
  jobSeconds: [
    '<n>',
    option.whole(1, 7 * 24 * 3600).default(7 * 24 * 3600),
    'deadline of the Job: nodes are not waited for beyond it, only until they have pinned',
  ],
  nodeName: ['<name>', z.string().default('unknown'), 'for the log, which goes to stderr as JSON'],
  namespace: ['<namespace>', z.string().default(SpokeName.namespace), 'namespace of Job `pre-cache`'],
  nodes: [
    '<json>',
    Nodes,
    'leads the pullers of the other nodes and ends with the verdict of all: `{"selector":{},"tolerations":[],"patienceSeconds":600,"absent":"fail"}`; this node alone when absent',
  ],
  follow: [
    '<on>',
    z.enum(['on', 'off']).default('off'),
    '`on` or `off`: fill this node as the puller of Job `pre-cache` says, for as long as the pod lives',
  ],
  podIp: ['<address>', z.string().default('127.0.0.1'), 'address of this pod, for the other pullers of the spoke'],
  peerPort: ['<n>', option.whole(0, 65_534).default(8_443), 'port for them; blobs are on the next one; 0 takes free ones'],
  podToken: [
    '<file>',
    z.string().default('/var/run/secrets/flotilla.io/token'),
    'token of this pod for audience `flotilla-pre-cache`, by which it joins',
  ],
  maxParallelPulls: ['<n>', option.whole(1, 64).default(5), 'images at once'],
  bandwidth: [
    '<bytes>',
    option.whole(LEAST_BANDWIDTH, MOST_BANDWIDTH).optional(),
    'most bytes a second that are read from registries, over all images; no bound when absent. With CRI-O, and for images that are left to the runtime, it holds for the list alone',
  ],
  fetchBlobs: [
    '<on>',
    z.enum(['on', 'off']).default('on'),
    "`on` or `off`: fetch the blobs of images into containerd's content store; `off`, and always with CRI-O: the runtime fetches them",
  ],
  retryForSeconds: [
    '<n>',
    option.whole(0, 7 * 24 * 3600).default(900),
    'how long one image is tried again without progress, from its first failure on, at least three times; the list waits at most 120 s',
  ],
  kubeletConfig: [
    '<file>',
    z.string().optional(),
    "the kubelet's configuration file (KubeletConfiguration, YAML or JSON): its `imageGCHighThresholdPercent` counts",
    'KUBELET_CONFIG_PATH',
  ],
  imageGcHighThresholdPercent: ['<n>', option.whole(1, 100).default(85), 'counts where that file is not there or does not say'],
  storeExpansionPercent: [
    '<n>',
    option.whole(100, 1_000).optional(),
    'what a compressed byte takes in the store; 250 for `cri` and 100 for `layout` when absent',
  ],
  logLevel: ['<level>', option.logLevel.default('info'), 'error, warn, info, debug or silent'],
  progressOnJob: ['<on>', z.enum(['on', 'off']).default('on'), '`on` or `off`: annotate Job `pre-cache` with the progress'],
  progressSeconds: [
    '<n>',
    option.whole(1, 3600).default(3),
    'between two writes of it; the hub asks for more where many spokes pull at once, for each may be a write on the hub',
  ],
  terminationLog: ['<file>', z.string().default('/dev/termination-log'), 'written when the file exists'],
  kubeconfig: ['<file>', z.string().optional(), 'where that Job is; in-cluster when absent'],
} satisfies OptionRows;
const Settings = schemaOf(options);

/** Default sockets of a node's runtime, in the order of trial. */
const DEFAULT_SOCKETS = ['/run/containerd/containerd.sock', '/run/crio/crio.sock'] as const;

/** All settings of the program; README.md explains each. */
export type Config = ReturnType<typeof readConfig>;

/**
 * Reads the environment, and flags of a start by hand.
 * @throws TerminalError `FLOTILLA_PULLER_CONFIG_INVALID` naming the flag and the variable
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
  argv: readonly string[] = process.argv.slice(2),
) {
  const settings = readSettings(env, argv);
  const { criSocket, registriesConfDir, registryCertsDirs, store } = settings;
  return Object.freeze({
    mode: settings.mode,
    recordDir: settings.recordDir,
    pinFor: settings.pinFor,
    pinBy: settings.pinBy,
    deadlineMs: settings.jobSeconds * 1_000,
    specDir: settings.specDir,
    store,
    sockets: criSocket.length > 0 ? criSocket.map((path) => path.replace(/^unix:\/\//, '')) : [...DEFAULT_SOCKETS],
    storePath: settings.storePath,
    layoutDir: settings.layoutDir,
    pullSecretPath: settings.pullSecret,
    registryCaPaths: settings.registryCa,
    registryRules: toRules(settings.registryConfig),
    registriesDir: registriesConfDir,
    certsDirs: registryCertsDirs.length > 0 ? registryCertsDirs : [`${registriesConfDir}/certs.d`, '/etc/docker/certs.d'],
    proxy: { http: settings.httpProxy, https: settings.httpsProxy, no: settings.proxyBypass },
    nodeName: settings.nodeName,
    namespace: settings.namespace,
    nodes: settings.nodes,
    follows: settings.follow === 'on',
    podAddress: settings.podIp,
    ports: { lead: settings.peerPort, blobs: settings.peerPort === 0 ? 0 : settings.peerPort + 1 },
    podTokenPath: settings.podToken,
    parallelPulls: settings.maxParallelPulls,
    bytesPerSecond: settings.bandwidth,
    fetchesBlobs: settings.fetchBlobs === 'on',
    retryForMs: settings.retryForSeconds * 1_000,
    kubeletConfigPath: settings.kubeletConfig,
    gcThresholdPercent: settings.imageGcHighThresholdPercent,
    /** Store bytes per compressed byte: the runtime's store keeps the blob and one and a half times its size unpacked, a layout only the blob. */
    expansion: (settings.storeExpansionPercent ?? (store === 'cri' ? 250 : 100)) / 100,
    logLevel: settings.logLevel,
    progressOnJob: settings.progressOnJob === 'on',
    progressMs: settings.progressSeconds * 1000,
    terminationLog: settings.terminationLog,
    kubeconfigPath: settings.kubeconfig,
  });
}

function readSettings(env: Readonly<Record<string, string | undefined>>, argv: readonly string[]) {
  const description = "Flotilla image puller: fills the image store of its node with a release's images.";
  try {
    return readOptions({
      program: 'image-puller',
      description,
      rows: options,
      schema: Settings,
      argv,
      env: { ...env, ...proxyVariables(env) },
    });
  } catch (cause) {
    throw new TerminalError(PullerErrorCode.configInvalid, errorMessage(cause), { cause });
  }
}
