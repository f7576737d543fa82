/**
 * Every command with its options: help, completions and the documentation come from this table. It imports nothing, so that `--help` costs no
 * more than it prints; what a command does is loaded when it runs.
 */

import type { Run } from './run.ts';

/** Flag and meaning. */
type OptionRow = readonly [flags: string, meaning: string];

/** One command, or a group of them. */
export interface CommandRow {
  readonly name: string;
  readonly meaning: string;
  /** Arguments, as usage shows them, each with its meaning. */
  readonly takes?: readonly (readonly [argument: string, meaning: string])[];
  readonly options?: readonly OptionRow[];
  readonly load?: () => Promise<Run>;
  readonly commands?: readonly CommandRow[];
}

const calls = [
  ['--as <user>', 'user to act as, whose rights then count'],
  ['--as-group <group...>', 'groups of that user'],
  ['--as-uid <uid>', 'uid of that user'],
  ['--request-timeout <duration>', 'how long a call to the server may take, such as 5s or 1m (default 30s; 0: as long as it takes)'],
] as const;
const access = [
  ['--kubeconfig <file>', 'kubeconfig to use (default KUBECONFIG, else ~/.kube/config)'],
  ['--context <name>', 'context of the kubeconfig (default its current one)'],
  ...calls,
] as const;
const namespace = ['-n, --namespace <namespace>', "namespace of the ClusterGroupUpgrade (default the context's, else default)"] as const;
const json = ['-o, --output <format>', 'json: the answer by its schema'] as const;
/** The answer as JSON, by either spelling. */
const asJson = (what: string): OptionRow[] => [
  ['-o, --output <format>', `json: ${what}`],
  ['--json', 'the same as -o json'],
];
const formats = ['-o, --output <format>', 'wide: more columns, nothing cut; json: the answer by its schema'] as const;
const hub = ['--hub-namespace <namespace>', 'namespace of the Lease by which the hub leads (default flotilla)'] as const;
const cguName = ['<cgu>', 'name of a ClusterGroupUpgrade'] as const;
const writing = [
  ['--dry-run', 'let the server check the change, say what it would touch, and store nothing'],
  ['-y, --yes', 'do not ask; needed where nobody can be asked'],
] as const;
const reason = ['--reason <text>', 'why, for whoever looks'] as const;
const steering: readonly OptionRow[] = [namespace, ...writing, json, hub, ...access];
const upgradeName = ['[cgu]', 'name of a ClusterGroupUpgrade'] as const;

const registry: readonly OptionRow[] = [
  ['--pull-secret <file>', "credentials of the registry, as Docker's config.json"],
  ['--registry-ca <file>', "PEM of the registry's authority"],
  ['--insecure-registry <host...>', 'registries that are spoken to over plain HTTP'],
];
const templating: readonly OptionRow[] = [
  ['--release-image <image>', 'pull spec that fills in the templates; default: that of the image, else release.invalid/release'],
  ['--profile <profile>', 'profile of the cluster (default self-managed-high-availability)'],
  ['--exclude <identifier>', 'leave out what carries exclude.release.openshift.io/<identifier>: "true"'],
];
const payload: readonly OptionRow[] = [
  ...templating,
  ['--feature-set <set>', 'feature set of the cluster (default Default)'],
  [
    '--feature-gates <names>',
    'feature gates that are on, with commas between them; default: those the payload turns on for the feature set',
  ],
  ['--capabilities <set>', 'baseline of capabilities, such as None or v4.18 (default vCurrent)'],
  ['--enable-capability <name...>', 'capabilities beyond the baseline'],
  ['--major-version <n>', "major version of the cluster; default: the payload's own"],
  ...registry,
];
const payloadRoot = ['<payload>', 'root of the payload, or its image'] as const;
const upgradeConfig: readonly OptionRow[] = [
  ['--kubeconfig <file>', 'kubeconfig of the cluster (default KUBECONFIG, else ~/.kube/config)'],
  ['--context <name>', 'context of the kubeconfig (default its current one)'],
  ...calls,
  ['-f, --file <file>', 'read the UpgradeConfig from a file (YAML or JSON) instead of a cluster'],
  ['-n, --namespace <namespace>', 'namespace of the UpgradeConfig (default openshift-managed-upgrade-operator)'],
  ...asJson('the answer by its schema'),
];

/** The commands. */
export const commands: readonly CommandRow[] = [
  {
    name: 'status',
    meaning:
      'Shows how far upgrades are: clusters, bytes, expected end, what is waited for, failures by cause. Ends with 3 for one that failed.',
    takes: [upgradeName],
    options: [
      namespace,
      ['-A, --all-namespaces', 'upgrades of all namespaces'],
      ['-l, --selector <selector>', 'upgrades with these labels'],
      ['-w, --watch', 'go on until the upgrade ends: redraws on a terminal, a line per change in a pipe'],
      formats,
      hub,
      ...access,
    ],
    load: async () => (await import('./status/command.ts')).showStatus,
  },
  {
    name: 'plan',
    meaning:
      'Says what an upgrade would do, before it does anything: batches, bytes that clusters pull, and whether it fits into its window. Writes nothing without --inspect. Ends with 3 for one that would be refused or does not fit.',
    takes: [upgradeName],
    options: [
      [
        '-f, --file <file>',
        'a file, folder or - (standard input) with a ClusterGroupUpgrade that is not applied; a PreCachingConfig and templates beside it count too',
      ],
      ['--rate <bytes>', 'what a cluster pulls in a second, such as 6MB'],
      ['--batch-minutes <n>', 'how long a batch takes'],
      ['--no-images', 'look up no images in the registry'],
      ['--registries-conf <file>', "mirrors, in the containers' registries.conf"],
      ['--inspect', 'ask a node of each cluster what it has, by a Job that reads and is taken away: the only form that writes'],
      ['--inspect-timeout <duration>', 'how long a cluster may take to answer (default 3m)'],
      ['--puller-image <image>', "image of that Job (default that of the PreCachingConfig, else the hub's)"],
      ['--dry-run', 'with --inspect: let the server check what would be written, and store nothing'],
      ['-y, --yes', 'with --inspect: do not ask; needed where nobody can be asked'],
      ['--save', 'print the digest that binds the upgrade to this plan (annotation flotilla.io/plan)'],
      namespace,
      formats,
      ...registry,
      hub,
      ...access,
    ],
    load: async () => (await import('./plan/command.ts')).showPlan,
  },
  {
    name: 'wait',
    meaning:
      'Waits until the clusters of an upgrade are cached, or the upgrade is done. Ends with 3 when that cannot be any more, 4 when the time is up, each with the causes.',
    takes: [cguName],
    options: [
      ['--for <state>', 'cached, done, or batch=N: that batch has begun (default done)'],
      ['--timeout <duration>', 'how long, such as 90s, 30m, 4h (default 30m; 0 looks once)'],
      namespace,
      json,
      hub,
      ...access,
    ],
    load: async () => (await import('./wait/command.ts')).waitFor,
  },
  {
    name: 'why',
    meaning:
      'Says why a cluster waits, or what all of an upgrade wait for: one chain, each link with its evidence, and what would release the last.',
    takes: [cguName, ['[cluster]', 'a cluster; without one: all, by cause']],
    options: [namespace, formats, hub, ...access],
    load: async () => (await import('./why/command.ts')).showWhy,
  },
  {
    name: 'pause',
    meaning:
      'Lets nothing new begin in an upgrade; what runs ends, or with --now stops. Ends with 3 for one that has ended, 4 when no hub has taken it up.',
    takes: [cguName],
    options: [['--now', 'stop pulls that run, too; they begin again after resume'], reason, ...steering],
    load: async () => (await import('./steer/pause.ts')).pauseUpgrade,
  },
  {
    name: 'resume',
    meaning: 'Lets an upgrade go on that was paused.',
    takes: [cguName],
    options: steering,
    load: async () => (await import('./steer/pause.ts')).resumeUpgrade,
  },
  {
    name: 'retry',
    meaning:
      'Tries clusters again that failed: in an upgrade that goes on in last batches or by another pull, after its end by a new upgrade for them alone. Ends with 3 when none has failed.',
    takes: [cguName, ['[clusters...]', 'clusters; without one: all that failed']],
    options: [['--failed', 'all that failed, as without clusters'], ...steering],
    load: async () => (await import('./steer/retry.ts')).retryUpgrade,
  },
  {
    name: 'hold',
    meaning: 'Lets nothing begin on a cluster, in any upgrade, until unhold.',
    takes: [['<cluster>', 'name of a ManagedCluster']],
    options: [reason, ...writing, json, ...access],
    load: async () => (await import('./steer/hold.ts')).holdCluster,
  },
  {
    name: 'unhold',
    meaning: 'Lets upgrades go on with a cluster that was held.',
    takes: [['<cluster>', 'name of a ManagedCluster']],
    options: [...writing, json, ...access],
    load: async () => (await import('./steer/hold.ts')).unholdCluster,
  },
  {
    name: 'console',
    meaning:
      'Serves a live page about all upgrades and spokes until it is ended: to this machine alone, with the rights of whoever runs it, or with --login to several people, each with their own.',
    options: [
      ['-n, --namespace <namespace>', 'namespace of the ClusterGroupUpgrades (default all)'],
      ['--registries-conf <file>', "mirrors, in the containers' registries.conf, for images of plans"],
      ...registry,
      hub,
      ...access,
      [
        '--login <way>',
        'serve several people, each with a token of the API server: token (they paste it), or the header in which a proxy in front sends it: authorization, x-forwarded-access-token',
      ],
      ['--address <url...>', 'with --login: where people open the page, as in https://console.example.com'],
      ['--listen <address>', 'with --login: address and port to listen on (default 127.0.0.1:8080)'],
      ['--tls-cert <file>', 'with --login: certificate in PEM, read again when it is renewed'],
      ['--tls-key <file>', 'with --login: its key'],
      ['--server <url>', 'with --login: the API server (default https://kubernetes.default.svc)'],
      ['--certificate-authority <file>', "with --login: PEM of the API server's authority (default the system's)"],
      ['--viewers <n>', 'with --login: people who look at the same time (default 50)'],
    ],
    load: async () => (await import('./console/command.ts')).runConsole,
  },
  {
    name: 'window',
    meaning: 'Shows and sets the window in which batches of an upgrade start.',
    commands: [
      {
        name: 'show',
        meaning: 'Says whether it is open, and until when or from when on. Ends with 3 for one that cannot be read.',
        takes: [cguName],
        options: [namespace, json, ...access],
        load: async () => (await import('./steer/window.ts')).showWindow,
      },
      {
        name: 'set',
        meaning: 'Sets the window; what is not given is taken away.',
        takes: [cguName],
        options: [
          ['--start <time>', 'from then on, RFC 3339 with zone, as in 2026-12-05T22:00:00+01:00'],
          ['--end <time>', 'until then'],
          ['--schedule <cron>', 'openings of windows that recur: five cron fields, as in "0 22 * * 6"'],
          ['--duration <time>', 'how long each is open, such as 4h; between 15m and 168h'],
          ['--timezone <zone>', 'IANA zone of the schedule, such as Europe/Berlin (default UTC)'],
          ...steering,
        ],
        load: async () => (await import('./steer/window.ts')).setWindow,
      },
      {
        name: 'clear',
        meaning: 'Takes the window away: batches start at any time.',
        takes: [cguName],
        options: steering,
        load: async () => (await import('./steer/window.ts')).clearWindow,
      },
    ],
  },
  {
    name: 'join',
    meaning:
      'Registers a spoke with a standalone hub. May be repeated: it renews what is there. Ends with 3 when the hub refuses the spoke, 4 when the time is up.',
    options: [
      ['--hub-kubeconfig <file>', 'kubeconfig of an administrator of the hub'],
      ['--hub-context <name>', 'context of that kubeconfig (default its current one)'],
      ['--spoke-kubeconfig <file>', 'kubeconfig of an administrator of the spoke; not needed with --print'],
      ['--spoke-context <name>', 'context of that kubeconfig (default its current one)'],
      ['--name <name>', 'name of the spoke: its ManagedCluster, and its namespace on the hub'],
      ['--label <key=value...>', 'labels of the ManagedCluster'],
      ['--hub-server <url>', 'address of the hub as the spoke reaches it; default that of --hub-kubeconfig'],
      ['--hub-ca <file>', 'PEM of the authority of that address; default that of --hub-kubeconfig'],
      ['--token-days <n>', 'days until the token runs out unless the agent renews it, which it does from half of them on (default 30)'],
      [
        '--image <image>',
        "the agent's image: repository[:tag][@sha256:...]; required unless --image-registry or --values says where it is",
      ],
      ['--image-registry <registry>', 'registry and path of all images, for the image of the chart, as in registry.example.com/flotilla'],
      ['-n, --namespace <namespace>', "the agent's namespace on the spoke (default flotilla)"],
      ['--values <file>', 'more values for the chart'],
      ['--chart <chart>', 'chart of the agent: folder, archive or oci:// address (default: the one of this release)'],
      ['--timeout-seconds <n>', 'how long to wait for the hub to let the spoke in (default 60)'],
      ['--print', 'write the objects for the spoke to standard output, for kubectl apply -f -, instead of installing them'],
      ['--dry-run', 'have hub and spoke check what would be written, write nothing and say what it would do'],
    ],
    load: async () => (await import('./join/command.ts')).join,
  },
  {
    name: 'payload',
    meaning: 'Shows what a release payload comes to, in a folder or in its image, and how far a cluster has applied one.',
    commands: [
      {
        name: 'included',
        meaning: 'Lists the manifests that a cluster takes of a payload, in load order.',
        takes: [payloadRoot],
        options: [...payload, ...asJson('a list of {file, kind, namespace, name}'), ['--why', 'list what is left out instead, and why']],
        load: async () => (await import('./payload/command.ts')).showIncluded,
      },
      {
        name: 'graph',
        meaning: 'Shows in which order a payload is applied.',
        takes: [payloadRoot],
        options: [
          ...payload,
          ['--format <format>', 'dot, mermaid or json (default dot)'],
          ...asJson('the same as --format json'),
          ['--state <state>', 'install, update or reconcile (default update)'],
          ['--seed <n>', 'of reconciling: how many tries failed before; the order follows it (default 0)'],
        ],
        load: async () => (await import('./payload/command.ts')).showGraph,
      },
      {
        name: 'lint',
        meaning: 'Says what is wrong in a payload, by file and line. Ends with 3 when there are errors.',
        takes: [['<payload>', 'root of the payload, its image, or a file with ClusterOperators']],
        options: [...registry, ...asJson('a list of {level, rule, file, line, message}'), ['--strict', 'end with 3 for warnings too']],
        load: async () => (await import('./payload/lint-command.ts')).lint,
      },
      {
        name: 'status',
        meaning:
          'Says how far a cluster has applied a release: level, what is waited for since when, expected end. Ends with 3 for one that fails or is refused.',
        options: [...access, ...asJson('the answer by its schema')],
        load: async () => (await import('./payload-status/command.ts')).showPayloadStatus,
      },
      {
        name: 'diff',
        meaning:
          'Says what an update would create, change, leave and delete on a cluster, in its order. Ends with 3 when the server would refuse some of it.',
        takes: [payloadRoot],
        options: [...access, ...templating, ...registry, ...asJson('every object'), ['--all', 'as text: list what is left alone, too']],
        load: async () => (await import('./payload-diff/command.ts')).showDiff,
      },
    ],
  },
  {
    name: 'upgrade',
    meaning: 'Shows the managed upgrade of a cluster.',
    commands: [
      {
        name: 'plan',
        meaning: 'Lists the steps that the upgrade takes, in order.',
        options: upgradeConfig,
        load: async () => (await import('./upgrade/command.ts')).showPlan,
      },
      {
        name: 'status',
        meaning: 'Shows how far each step is: done, waiting for what, left.',
        options: upgradeConfig,
        load: async () => (await import('./upgrade/command.ts')).showStatus,
      },
    ],
  },
  {
    name: 'check',
    meaning: 'Checks a hub before a move.',
    commands: [
      {
        name: 'talm',
        meaning: 'Says which objects of a hub that TALM manages carry over, which mean something else here, and what to do first.',
        options: [...access, ...asJson('the answer by its schema')],
        load: async () => (await import('./check-talm/command.ts')).checkTalm,
      },
    ],
  },
  {
    name: 'mirror',
    meaning: 'Puts the images and charts of a release on a registry.',
    options: [
      ['--from <folder>', 'the release: the folder that npm run release made, or a copy of it'],
      ['--to <registry>', 'registry and path to fill, as in mirror.example.com:5000/flotilla'],
      ['--authfile <file>', "credentials of the registry, as Docker's config.json"],
      ['--registry-ca <file>', "PEM of the registry's authority"],
      ['--insecure-registry', 'speak plain HTTP to the registry'],
    ],
    load: async () => (await import('./mirror/command.ts')).runMirror,
  },
  {
    name: 'version',
    meaning: 'Says version and commit of this program, and with --kubeconfig or --context what of Flotilla runs in that cluster.',
    options: [
      ['--kubeconfig <file>', 'kubeconfig of a hub or spoke'],
      ['--context <name>', 'context of the kubeconfig (default its current one)'],
      ...calls,
    ],
    load: async () => (await import('./version/command.ts')).showVersion,
  },
];
