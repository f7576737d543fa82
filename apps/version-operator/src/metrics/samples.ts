import { findCondition } from '@flotilla/api';
import type { ClusterOperator, ClusterVersion, ConfigCondition, Release } from '@flotilla/api/config';
import type { Sample as AnySample, MetricTable } from '@flotilla/runtime';

/** Gauges, named as dashboards and alerts have them. */
export const VERSION_METRICS = {
  cluster_version: {
    help: 'Versions of the cluster by type, as seconds since the epoch',
    labels: ['type', 'version', 'image', 'from_version'],
  },
  cluster_version_available_updates: {
    help: 'Updates that are recommended',
    labels: ['upstream', 'channel'],
  },
  cluster_version_capability: {
    help: 'Capabilities: 1 enabled, 0 known',
    labels: ['name'],
  },
  cluster_operator_up: {
    help: '1 while an operator is available',
    labels: ['name', 'version', 'reason'],
  },
  cluster_operator_conditions: {
    help: 'Conditions of operators: 1 true, 0 false',
    labels: ['name', 'condition', 'reason'],
  },
  cluster_operator_condition_transitions: {
    help: 'Times a condition of an operator has changed since the start',
    labels: ['name', 'condition'],
  },
  cluster_installer: {
    help: 'Who installed the cluster',
    labels: ['type', 'version', 'invoker'],
  },
  cluster_version_operator_update_retrieval_timestamp_seconds: {
    help: 'When updates were last retrieved, or what is asked for changed',
    labels: ['name'],
  },
  cluster_version_conditional_update_condition_seconds: {
    help: 'When a condition of an update under conditions last changed',
    labels: ['version', 'condition', 'status', 'reason'],
  },
  cluster_version_risk_conditions: {
    help: 'Risks of updates: 1 applies, 0 does not, -1 is not known',
    labels: ['condition', 'risk', 'reason'],
  },
  cluster_version_payload: {
    help: 'Manifests of the release by whether they are applied',
    labels: ['version', 'type'],
  },
  cluster_operator_payload_errors: {
    help: 'Passes over the release that have failed',
    labels: ['version'],
  },
} as const satisfies MetricTable;
export type MetricName = keyof typeof VERSION_METRICS;

/** One value of these metrics. */
export type Sample = AnySample<MetricName>;

/** Builds a sample. */
export const sampleOf = (metric: MetricName, labels: Sample['labels'], value: number): Sample => ({ metric, labels, value });

/** Inputs of the metrics (spec/cvo 7.1). */
export interface MetricSources {
  readonly clusterVersion: ClusterVersion | undefined;
  readonly operators: readonly ClusterOperator[];
  /** The release that is applied; undefined before there is one. */
  readonly release?: (Pick<Release, 'version' | 'image'> & { readonly createdAt?: string | undefined }) | undefined;
  readonly progress?: { readonly done: number; readonly total: number } | undefined;
  /** `data` of the ConfigMap that an installer left, and which of the two it is. */
  readonly installer?: { readonly type: string; readonly data: Readonly<Record<string, string>> } | undefined;
  /** Last good answer of the update-graph service, or when what is asked of it changed, milliseconds since the epoch. */
  readonly updatesFreshAtMs?: number | undefined;
}

/** Turns the content of the caches into samples; `Tallies` keeps those that count over time. Pure. */
export function samplesOf(sources: MetricSources): Sample[] {
  return [
    ...versionSamples(sources),
    ...updateSamples(sources),
    ...capabilitySamples(sources),
    ...operatorSamples(sources),
    ...riskSamples(sources),
    ...installerSamples(sources),
    ...payloadSamples(sources),
  ];
}

const secondsOf = (time: string | null | undefined): number => Math.floor(Date.parse(time ?? '') / 1_000) || 0;

function versionSamples({ clusterVersion, release }: MetricSources): Sample[] {
  const { history = [], conditions } = clusterVersion?.status ?? {};
  const done = (history ?? []).filter(({ state }) => state === 'Completed');
  const [completed, previous] = done;
  const from = completed?.version ?? '';
  const current = release ?? clusterVersion?.status?.desired ?? { version: '', image: '' };
  const sample = (type: string, { version = '', image = '' }: { version?: string; image?: string }, of: string, value: number): Sample =>
    sampleOf('cluster_version', { type, version, image, from_version: of }, value);
  const samples = release ? [sample('current', release, from, secondsOf(release.createdAt))] : [];
  if (!clusterVersion) return samples;
  const created = secondsOf(clusterVersion.metadata.creationTimestamp);
  const initial = history?.at(-1);
  const newest = history?.[0];
  const failing = findCondition(conditions, 'Failing');
  const failedAt = failing?.status === 'True' ? secondsOf(failing.lastTransitionTime) : undefined;
  const { desiredUpdate } = clusterVersion.spec;
  const isAsked = desiredUpdate && (desiredUpdate.image ?? '') !== current.image;
  return [
    ...samples,
    ...(completed ? [sample('completed', completed, previous?.version ?? '', secondsOf(completed.completionTime))] : []),
    ...(initial ? [sample('initial', initial, '', created)] : []),
    sample('cluster', current, completed ? (initial?.version ?? '') : '', created),
    ...(isAsked ? [sample('desired', desiredUpdate, from, latestTime(clusterVersion))] : []),
    ...(isAsked && failedAt !== undefined ? [sample('failure', desiredUpdate, from, failedAt)] : []),
    ...(!isAsked && failedAt !== undefined ? [sample('failure', current, from, failedAt)] : []),
    ...(newest?.state === 'Partial' ? [sample('updating', newest, from, secondsOf(newest.startedTime))] : []),
  ];
}

function latestTime({ metadata, status }: ClusterVersion): number {
  const times = [
    metadata.creationTimestamp,
    ...(status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime),
    ...(status?.history ?? []).flatMap(({ startedTime, completionTime }) => [startedTime, completionTime]),
  ];
  return Math.max(0, ...times.map(secondsOf));
}

function updateSamples({ clusterVersion, updatesFreshAtMs }: MetricSources): Sample[] {
  const { upstream = '', channel = '' } = clusterVersion?.spec ?? {};
  const { availableUpdates, conditionalUpdates, conditions } = clusterVersion?.status ?? {};
  const isKnown =
    upstream !== '' || (availableUpdates?.length ?? 0) > 0 || findCondition(conditions, 'RetrievedUpdates')?.status === 'True';
  const samples = (conditionalUpdates ?? []).flatMap(({ release: { version }, conditions: said }) =>
    (said ?? []).map(({ type, status, reason, lastTransitionTime }) => {
      const labels = { version, condition: type, status, reason };
      return sampleOf('cluster_version_conditional_update_condition_seconds', labels, secondsOf(lastTransitionTime));
    }),
  );
  if (clusterVersion && isKnown)
    samples.push(
      sampleOf('cluster_version_available_updates', { upstream: upstream || '<default>', channel }, availableUpdates?.length ?? 0),
    );
  if (updatesFreshAtMs !== undefined)
    samples.push(sampleOf('cluster_version_operator_update_retrieval_timestamp_seconds', { name: '' }, updatesFreshAtMs / 1_000));
  return samples;
}

function capabilitySamples({ clusterVersion }: MetricSources): Sample[] {
  const { enabledCapabilities, knownCapabilities } = clusterVersion?.status?.capabilities ?? {};
  const enabled = new Set(enabledCapabilities ?? []);
  const names = new Set([...enabled, ...(knownCapabilities ?? [])]);
  return [...names].map((name) => sampleOf('cluster_version_capability', { name }, enabled.has(name) ? 1 : 0));
}

function operatorSamples({ clusterVersion, operators, release }: MetricSources): Sample[] {
  const version = release?.version ?? clusterVersion?.status?.desired?.version ?? '';
  return [
    ...(clusterVersion
      ? samplesOfOperator('version', version, clusterVersion.status?.conditions ?? [])
      : [sampleOf('cluster_operator_up', { name: 'version', version: '', reason: 'ClusterVersionNotFound' }, 0)]),
    ...operators.flatMap(({ metadata: { name }, status }) =>
      samplesOfOperator(name, status?.versions?.find((one) => one.name === 'operator')?.version ?? '', status?.conditions ?? []),
    ),
  ];
}

function samplesOfOperator(name: string, version: string, conditions: readonly ConfigCondition[]): Sample[] {
  const available = findCondition(conditions, 'Available');
  const reason = available ? available.reason : 'NoAvailableCondition';
  const known = conditions.filter(({ status }) => status !== 'Unknown');
  return [
    sampleOf('cluster_operator_up', { name, version, reason }, available?.status === 'True' ? 1 : 0),
    ...known.map(({ type, status, reason: why }) =>
      sampleOf('cluster_operator_conditions', { name, condition: type, reason: why }, status === 'True' ? 1 : 0),
    ),
  ];
}

const riskValues = { True: 1, False: 0, Unknown: -1 } as const;

function riskSamples({ clusterVersion }: MetricSources): Sample[] {
  const risks = (clusterVersion?.status?.conditionalUpdates ?? []).flatMap((update) => update.risks);
  const seen = new Map(risks.map((risk) => [risk.name, risk] as const));
  return [...seen.values()].flatMap(({ name, conditions }) =>
    (conditions ?? []).map(({ type, status, reason }) =>
      sampleOf('cluster_version_risk_conditions', { condition: type, risk: name, reason }, riskValues[status]),
    ),
  );
}

function installerSamples({ installer }: MetricSources): Sample[] {
  const { version = '', invoker = '' } = installer?.data ?? {};
  return [sampleOf('cluster_installer', { type: installer?.type ?? '', version, invoker }, 1)];
}

function payloadSamples({ release, progress }: MetricSources): Sample[] {
  if (!release || !progress) return [];
  const { version } = release;
  return [
    sampleOf('cluster_version_payload', { version, type: 'pending' }, progress.total - progress.done),
    sampleOf('cluster_version_payload', { version, type: 'applied' }, progress.done),
  ];
}
