/**
 * Every command with its options: help, completions and the documentation come from this table. It imports nothing, so that `--help` is fast:
 * options are loaded with the command that is typed, and what it does when it runs.
 */

import type { z } from 'zod';
import type { Run } from './run.ts';

/** One command, or a group of them. */
export interface CommandRow {
  readonly name: string;
  readonly meaning: string;
  /** Arguments, as usage shows them, each with its meaning. */
  readonly takes?: readonly (readonly [argument: string, meaning: string])[];
  readonly options?: () => Promise<z.ZodObject>;
  readonly load?: () => Promise<Run>;
  readonly commands?: readonly CommandRow[];
}

const cguName = ['<cgu>', 'name of a ClusterGroupUpgrade'] as const;
const upgradeName = ['[cgu]', 'name of a ClusterGroupUpgrade'] as const;
const payloadRoot = ['<payload>', 'root of the payload, or its image'] as const;

/** The commands. */
export const commands: readonly CommandRow[] = [
  {
    name: 'status',
    meaning:
      'Shows how far upgrades are: clusters, bytes, expected end, what is waited for, failures by cause. Ends with 3 for one that failed.',
    takes: [upgradeName],
    options: async () => (await import('./hub/options.ts')).StatusOptions,
    load: async () => (await import('./status/command.ts')).showStatus,
  },
  {
    name: 'plan',
    meaning:
      'Says what an upgrade would do, before it does anything: batches, bytes that clusters pull, and whether it fits into its window. Writes nothing without --inspect. Ends with 3 for one that would be refused or does not fit.',
    takes: [upgradeName],
    options: async () => (await import('./plan/options.ts')).PlanOptions,
    load: async () => (await import('./plan/command.ts')).showPlan,
  },
  {
    name: 'wait',
    meaning:
      'Waits until the clusters of an upgrade are cached, or the upgrade is done. Ends with 3 when that cannot be any more, 4 when the time is up, each with the causes.',
    takes: [cguName],
    options: async () => (await import('./hub/options.ts')).WaitOptions,
    load: async () => (await import('./wait/command.ts')).waitFor,
  },
  {
    name: 'why',
    meaning:
      'Says why a cluster waits, or what all of an upgrade wait for: one chain, each link with its evidence, and what would release the last.',
    takes: [cguName, ['[cluster]', 'a cluster; without one: all, by cause']],
    options: async () => (await import('./hub/options.ts')).WhyOptions,
    load: async () => (await import('./why/command.ts')).showWhy,
  },
  {
    name: 'limits',
    meaning:
      'Shows the limits of the fleet: how many clusters pre-cache and are upgraded at a time over all upgrades, who has the places and who waits. Ends with 3 where they cannot be read.',
    options: async () => (await import('./hub/options.ts')).LimitsOptions,
    load: async () => (await import('./limits/command.ts')).showLimits,
  },
  {
    name: 'pause',
    meaning:
      'Lets nothing new begin in an upgrade; what runs ends, or with --now stops. Ends with 3 for one that has ended, 4 when no hub has taken it up.',
    takes: [cguName],
    options: async () => (await import('./steer/options.ts')).PauseOptions,
    load: async () => (await import('./steer/pause.ts')).pauseUpgrade,
  },
  {
    name: 'resume',
    meaning: 'Lets an upgrade go on that was paused.',
    takes: [cguName],
    options: async () => (await import('./steer/options.ts')).SteerOptions,
    load: async () => (await import('./steer/pause.ts')).resumeUpgrade,
  },
  {
    name: 'retry',
    meaning:
      'Tries clusters again that failed: in an upgrade that goes on in last batches or by another pull, after its end by a new upgrade for them alone. Ends with 3 when none has failed.',
    takes: [cguName, ['[clusters...]', 'clusters; without one: all that failed']],
    options: async () => (await import('./steer/options.ts')).RetryOptions,
    load: async () => (await import('./steer/retry.ts')).retryUpgrade,
  },
  {
    name: 'hold',
    meaning: 'Lets nothing begin on a cluster, in any upgrade, until unhold.',
    takes: [['<cluster>', 'name of a ManagedCluster']],
    options: async () => (await import('./steer/options.ts')).HoldOptions,
    load: async () => (await import('./steer/hold.ts')).holdCluster,
  },
  {
    name: 'unhold',
    meaning: 'Lets upgrades go on with a cluster that was held.',
    takes: [['<cluster>', 'name of a ManagedCluster']],
    options: async () => (await import('./steer/options.ts')).ClusterOptions,
    load: async () => (await import('./steer/hold.ts')).unholdCluster,
  },
  {
    name: 'console',
    meaning:
      'Serves a live page about all upgrades and spokes until it is ended: to this machine alone, with the rights of whoever runs it, or with --login to several people, each with their own.',
    options: async () => (await import('./console/options.ts')).ConsoleOptions,
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
        options: async () => (await import('./steer/options.ts')).ShowOptions,
        load: async () => (await import('./steer/window.ts')).showWindow,
      },
      {
        name: 'set',
        meaning: 'Sets the window; what is not given is taken away.',
        takes: [cguName],
        options: async () => (await import('./steer/options.ts')).SetOptions,
        load: async () => (await import('./steer/window.ts')).setWindow,
      },
      {
        name: 'clear',
        meaning: 'Takes the window away: batches start at any time.',
        takes: [cguName],
        options: async () => (await import('./steer/options.ts')).SteerOptions,
        load: async () => (await import('./steer/window.ts')).clearWindow,
      },
    ],
  },
  {
    name: 'join',
    meaning:
      'Registers a spoke with a standalone hub. May be repeated: it renews what is there. Ends with 3 when the hub refuses the spoke, 4 when the time is up.',
    options: async () => (await import('./join/options.ts')).JoinOptions,
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
        options: async () => (await import('./payload/options.ts')).IncludedOptions,
        load: async () => (await import('./payload/command.ts')).showIncluded,
      },
      {
        name: 'graph',
        meaning: 'Shows in which order a payload is applied.',
        takes: [payloadRoot],
        options: async () => (await import('./payload/options.ts')).GraphOptions,
        load: async () => (await import('./payload/command.ts')).showGraph,
      },
      {
        name: 'lint',
        meaning: 'Says what is wrong in a payload, by file and line. Ends with 3 when there are errors.',
        takes: [['<payload>', 'root of the payload, its image, or a file with ClusterOperators']],
        options: async () => (await import('./payload/options.ts')).LintOptions,
        load: async () => (await import('./payload/command.ts')).lint,
      },
      {
        name: 'status',
        meaning:
          'Says how far a cluster has applied a release: level, what is waited for since when, expected end. Ends with 3 for one that fails or is refused.',
        options: async () => (await import('./hub/options.ts')).AnswerOptions,
        load: async () => (await import('./payload-status/command.ts')).showPayloadStatus,
      },
      {
        name: 'diff',
        meaning:
          'Says what an update would create, change, leave and delete on a cluster, in its order. Ends with 3 when the server would refuse some of it.',
        takes: [payloadRoot],
        options: async () => (await import('./payload/options.ts')).DiffOptions,
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
        options: async () => (await import('./upgrade/options.ts')).UpgradeOptions,
        load: async () => (await import('./upgrade/command.ts')).showPlan,
      },
      {
        name: 'status',
        meaning: 'Shows how far each step is: done, waiting for what, left.',
        options: async () => (await import('./upgrade/options.ts')).UpgradeOptions,
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
        options: async () => (await import('./hub/options.ts')).AnswerOptions,
        load: async () => (await import('./check-talm/command.ts')).checkTalm,
      },
    ],
  },
  {
    name: 'mirror',
    meaning: 'Puts the images and charts of a release on a registry.',
    options: async () => (await import('./registry/options.ts')).MirrorOptions,
    load: async () => (await import('./mirror/command.ts')).runMirror,
  },
  {
    name: 'version',
    meaning: 'Says version and commit of this program, and with --kubeconfig or --context what of Flotilla runs in that cluster.',
    options: async () => (await import('./hub/options.ts')).VersionOptions,
    load: async () => (await import('./version/command.ts')).showVersion,
  },
];
