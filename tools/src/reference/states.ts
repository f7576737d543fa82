import { backupJobMachine, precacheJobMachine, rolloutClusterMachine, rolloutMachine } from '@flotilla/rollout';
import { stateDiagram } from '@flotilla/rollout/diagram';
import { managedUpgradeMachine } from '@flotilla/upgrade';
import { page } from './markdown.ts';

type Machine = Parameters<typeof stateDiagram>[0];

const machines: Readonly<Record<string, readonly [machine: Machine, about: string]>> = {
  'Pre-caching of a cluster': [precacheJobMachine.machine, 'The states are those of `status.precaching.status`.'],
  'Backup of a cluster': [backupJobMachine.machine, 'The states are those of `status.backup.status`.'],
  'A ClusterGroupUpgrade': [
    rolloutMachine,
    'Before the start the hub goes from the beginning by what it observes; afterwards from the stored state.',
  ],
  'A cluster in a rollout': [rolloutClusterMachine, 'Final states are those of `status.clusters`.'],
  'An UpgradeConfig': [managedUpgradeMachine, 'The states are the phases of `status.history`.'],
};

/** `docs/reference/states.md`. */
export const statesPage = (): string =>
  page(
    'States',
    ...Object.entries(machines).map(
      ([title, [machine, about]]) => `## ${title}\n\n${about}\n\n\`\`\`mermaid\n${stateDiagram(machine)}\`\`\``,
    ),
  );
