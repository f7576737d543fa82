/** A step with everything around it in memory: for tests. */
import { type KubeObject, mergePatched } from '@flotilla/api';
import { ClusterVersion } from '@flotilla/api/config';
import type { MachineSet } from '@flotilla/api/machine';
import { type NotificationState, UpgradeConfig, type UpgradeHistory } from '@flotilla/api/managed';
import { ManualClock } from '@flotilla/pace/testing';
import { createLogger } from '@flotilla/runtime';
import { isSent, type ObservedCluster, targetOf } from '@flotilla/upgrade';
import type { ClusterWrites } from '../src/cluster-writes.ts';
import type { DrainState } from '../src/drain/node-drains.ts';
import type { OperatorConfig } from '../src/operator-config/schema.ts';
import { type StepContext, type StepOutcome, WithdrawnError } from '../src/steps/step.ts';
import { stepsOf } from '../src/upgraders.ts';
import { MemoryWorld } from './memory-world.ts';

type Fields = Record<string, unknown>;

/** Options of a case; the defaults are those of a cluster at 4.14.9 that goes to 4.14.12. */
export interface StepCase {
  readonly spec?: Fields;
  readonly entry?: Partial<UpgradeHistory>;
  readonly version?: { readonly spec?: Fields; readonly status?: Fields };
  readonly cluster?: Partial<ObservedCluster>;
  readonly config?: Partial<OperatorConfig>;
  readonly nowMs?: number;
  readonly world?: MemoryWorld;
  /** Problem that every notification fails with. */
  readonly problem?: string;
  readonly drain?: DrainState;
  /** Record of changes to the cluster. Default: a list of its own. */
  readonly writes?: string[];
  /** The API server says that the upgrade is not asked for any more. */
  readonly isWithdrawn?: boolean;
}

interface StepRun {
  readonly outcome: StepOutcome;
  readonly world: MemoryWorld;
  /** Changes to the cluster, in order. */
  readonly writes: readonly string[];
  /** Notifications of the step, with their detail. */
  readonly told: readonly string[];
}

/** Moment of every case, unless it says otherwise. */
export const NOW = Date.parse('2026-02-01T10:00:00Z');

/** Runs a step of OSD once; what it throws is thrown. */
export async function runStepCase(name: string, given: StepCase = {}): Promise<StepRun> {
  const step = stepsOf('OSD', { cacheProof: { required: true, maxAge: 60 } }).find((each) => each.name === name);
  if (!step) throw new RangeError(`no step ${name}`);
  const { writes = [], nowMs = NOW, problem } = given;
  const told: string[] = [];
  const { world = new MemoryWorld(new ManualClock(nowMs)) } = given;
  world.config = { ...world.config, ...given.config };
  const upgradeConfig = buildUpgradeConfig(given.spec);
  const target = targetOf(upgradeConfig.spec);
  if (!target) throw new RangeError('a case has a target');
  const cluster = buildCluster(given);
  const startTime = new Date(nowMs).toISOString();
  const entry: UpgradeHistory = { version: '4.14.12', phase: 'Upgrading', startTime, conditions: [], ...given.entry };
  const context: StepContext = {
    upgradeConfig,
    entry,
    target,
    cluster,
    isCommenced: isSent({ upgradeConfig, entry }, cluster.clusterVersion),
    config: world.config,
    nowMs,
    ports: world.ports,
    writes: recordWrites(writes),
    whileAsked: (act) => (given.isWithdrawn ? Promise.reject(new WithdrawnError('the UpgradeConfig was deleted')) : act()),
    drains: { force: async () => given.drain ?? { isLate: false } },
    notify: async (state: NotificationState, detail?: string) => {
      told.push(detail === undefined ? state : `${state} ${detail}`);
      return problem === undefined ? { isTold: true } : { isTold: false, problem };
    },
    logger: createLogger({ name: 'step', level: 'silent' }),
    signal: new AbortController().signal,
  };
  return { outcome: await step.run(context), world, writes, told };
}

const buildUpgradeConfig = (spec: Fields = {}): UpgradeConfig =>
  UpgradeConfig.schema.parse({
    metadata: { name: 'managed-upgrade-config', namespace: 'o', uid: 'u' },
    spec: {
      type: 'OSD',
      upgradeAt: '2026-02-01T09:00:00Z',
      PDBForceDrainTimeout: 60,
      desired: { version: '4.14.12', channel: 'stable-4.14' },
      ...spec,
    },
  });

const buildCluster = ({ version, cluster }: StepCase): ObservedCluster => ({
  clusterVersion: ClusterVersion.schema.parse({
    metadata: { name: 'version' },
    spec: { clusterID: 'x', channel: 'stable-4.14', ...version?.spec },
    status: {
      desired: { version: '4.14.9', image: 'r/9' },
      history: [{ state: 'Completed', version: '4.14.9', image: 'r/9', completionTime: '2026-01-01T00:00:00Z' }],
      availableUpdates: [{ version: '4.14.12', image: 'r/12' }],
      ...version?.status,
    },
  }),
  clusterOperators: [],
  pools: [],
  nodes: [],
  machineSets: [],
  machines: [],
  ...cluster,
});

function recordWrites(writes: string[]): ClusterWrites {
  return {
    async patchClusterVersion(clusterVersion, patch) {
      writes.push(`ClusterVersion ${JSON.stringify(patch)}`);
      return ClusterVersion.schema.parse(mergePatched(clusterVersion, patch));
    },
    createMachineSet: async ({ metadata }: KubeObject) => void writes.push(`create ${metadata.name}`),
    deleteMachineSet: async ({ metadata }: MachineSet) => void writes.push(`delete ${metadata.name}`),
    reinitFileIntegrity: async () => void writes.push('re-init'),
  };
}
