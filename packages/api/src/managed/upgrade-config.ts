import { z } from 'zod';
import { Condition } from '../conditions.ts';
import { KubeObject, ObjectMeta, resource } from '../kubernetes.ts';

const time = () => z.string().meta({ format: 'date-time' }).optional();

/** Type of an upgrade, which selects its steps. */
export const UpgradeType = z.enum(['OSD', 'ARO']);
export type UpgradeType = z.output<typeof UpgradeType>;

const Desired = z.object({
  version: z.string().optional().describe('Version to upgrade to.'),
  channel: z.string().optional().describe('Channel of the update graph that has the version.'),
  image: z.string().optional().describe('Release image to upgrade to, by digest; instead of version and channel.'),
});

/** Upgrade that a user or a provider requests (spec/muo 1.3). */
export const UpgradeConfigSpec = z.object({
  type: UpgradeType.describe('Which upgrader runs: its list of steps.'),
  upgradeAt: z.string().describe('Earliest start, RFC 3339.'),
  PDBForceDrainTimeout: z
    .int32()
    .meta({ minimum: 0 })
    .describe(
      'Minutes for which pods with a PodDisruptionBudget may hold up the drain of their node, beyond the time a drain is expected to take.',
    ),
  desired: Desired.describe('What to upgrade to.'),
  capacityReservation: z.boolean().optional().describe('Add a worker for each worker MachineSet while the upgrade runs.'),
});
export type UpgradeConfigSpec = z.output<typeof UpgradeConfigSpec>;

/** Phases of an upgrade; Upgraded and Failed are final. */
export const UpgradePhase = z.enum(['New', 'Pending', 'Upgrading', 'Upgraded', 'Failed']);
export type UpgradePhase = z.output<typeof UpgradePhase>;

/** Progress of a step of an upgrade (spec/muo 1.5). */
export const StepCondition = z.object({
  type: z.string().describe('Step, or what the condition says of the upgrade as a whole.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it is so.'),
  lastProbeTime: time().describe('When the condition was last found to be different.'),
  lastTransitionTime: time().describe('When the status last changed.'),
  startTime: time().describe('When the step was first tried.'),
  completeTime: time().describe('When the step was done.'),
  reason: z.string().optional().describe('The type, and done or not done.'),
  message: z.string().optional().describe('How far it is, or what went wrong.'),
  waitingFor: z.string().optional().describe('Flotilla: what the step waits for.'),
});
export type StepCondition = z.output<typeof StepCondition>;

/** One upgrade (spec/muo 1.4); descriptions mark additions to the reference's fields. */
export const UpgradeHistory = z.object({
  version: z.string().optional().describe('Version that is upgraded to; absent while that of an image is not known.'),
  precedingVersion: z.string().optional().describe('Version that is upgraded from.'),
  phase: UpgradePhase.describe('How far the upgrade is.'),
  conditions: z.array(StepCondition).optional().describe('Steps, the one that began last first.'),
  startTime: time().describe('When the upgrade began.'),
  completeTime: time().describe('When all its steps were done.'),
  begunWith: z
    .object({
      type: UpgradeType.describe('Which upgrader runs.'),
      upgradeAt: z.string().describe('Earliest start, RFC 3339.'),
      desired: Desired.describe('What is upgraded to.'),
    })
    .optional()
    .describe('Flotilla: what the upgrade was begun with. A change of it in the spec waits for the end of the upgrade.'),
  workerStartTime: time().describe('When the first pool of workers began to change.'),
  workerCompleteTime: time().describe('When every pool of workers was done.'),
  notifications: z
    .array(
      z.object({
        state: z.string().describe('What was told.'),
        time: time().describe('When it was told; absent while it is still to be told.'),
        detail: z.string().optional().describe('What was found, for states that tell of it.'),
        message: z.string().optional().describe('Why it could not be told yet.'),
      }),
    )
    .optional()
    .describe('Flotilla: what owners were told of, so that nothing is told twice and nothing that could not be told is lost.'),
  poolConfigurations: z
    .record(z.string(), z.string())
    .meta({ 'x-kubernetes-map-type': 'atomic' })
    .optional()
    .describe(
      'Flotilla: rendered configuration of each pool of workers before the upgrade, so that a pool that has not begun is not taken for done.',
    ),
});
export type UpgradeHistory = z.output<typeof UpgradeHistory>;

/** Report of the operator. */
export const UpgradeConfigStatus = z.object({
  observedGeneration: z.int().optional().describe('Flotilla: generation of the spec that the conditions are about.'),
  conditions: z
    .array(Condition)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
    .optional()
    .describe('Flotilla: Ready, and Stalled while somebody has to act, for tools that know nothing of upgrades.'),
  history: z.array(UpgradeHistory).optional().describe('Upgrades, the newest first.'),
});
export type UpgradeConfigStatus = z.output<typeof UpgradeConfigStatus>;

const Schema = KubeObject.extend({
  metadata: ObjectMeta,
  spec: UpgradeConfigSpec,
  status: UpgradeConfigStatus.optional(),
});
/** A managed upgrade of one cluster. */
export type UpgradeConfig = z.output<typeof Schema>;
export const UpgradeConfig = resource('upgrade.managed.openshift.io/v1alpha1', 'UpgradeConfig', 'upgradeconfigs', true, Schema);
