import { ClusterVersion, type UpdateHistory } from '@flotilla/api/config';
import type { WorkReport } from '../src/cluster-version/work-report.ts';
import { UpdateError, type UpdateErrorParts } from '../src/graph/update-error.ts';

/** Midnight of the tests. */
export const NOW = Date.parse('2026-01-02T00:00:00Z');
/** Minutes before `NOW`. */
export const minutesAgo = (minutes: number): number => NOW - minutes * 60_000;

/** A ClusterVersion as a server would send it. */
export const clusterVersion = ({ spec = {}, status = {} }: { spec?: object; status?: object } = {}): ClusterVersion =>
  ClusterVersion.schema.parse({
    metadata: { name: 'version', uid: 'u', resourceVersion: '1', generation: 3 },
    spec: { clusterID: '0b9a2a1e-7e4b-4d3c-9f6e-0123456789ab', channel: 'stable-4.20', ...spec },
    status: { desired: { version: '4.20.1', image: 'r@sha256:1' }, availableUpdates: null, ...status },
  });

/** An entry of the history. */
export const entry = (version: string, state: 'Completed' | 'Partial', more: Partial<UpdateHistory> = {}): UpdateHistory => ({
  state,
  version,
  image: `r@sha256:${version}`,
  startedTime: '2026-01-01T00:00:00Z',
  completionTime: state === 'Completed' ? '2026-01-01T01:00:00Z' : null,
  verified: false,
  ...more,
});

/** The error of a pass. */
export const failure = (parts: Partial<UpdateErrorParts> = {}): UpdateError =>
  new UpdateError({ reason: 'ClusterOperatorUpdating', message: 'Cluster operator dns is updating versions', names: ['dns'], ...parts });

/** Report of a worker in the middle of an update. */
export const report = (more: Partial<WorkReport> = {}): WorkReport => ({
  generation: 3,
  done: 0,
  total: 903,
  completed: false,
  reconciling: false,
  release: { version: '4.20.2', image: 'r@sha256:2' },
  versionHash: 'DL-FFQ2Uem8=',
  verified: true,
  capabilities: { known: new Set(['Console', 'Build']), enabled: new Set(['Build']), implicit: [] },
  featureGates: new Set(),
  operatorStarts: new Map(),
  ...more,
});
