import { findCondition } from '@flotilla/api';
import { ClusterOperator, ClusterVersion, type ClusterVersionStatus } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { clusterVersion, entry, failure, minutesAgo, NOW, report } from '../../testing/cluster-version-builders.ts';
import { type ClusterVersionSnapshot, clusterVersionStatus, clusterVersionTrouble } from './status.ts';

const judge = (snapshot: Partial<ClusterVersionSnapshot>) => clusterVersionStatus({ object: clusterVersion(), ...snapshot }, NOW);
/** Status, reason and message of a condition, with blanks between. */
const said = ({ conditions }: ClusterVersionStatus, type: string): string | undefined => {
  const found = findCondition(conditions, type);
  return found && [found.status, found.reason, found.message].filter(Boolean).join(' ');
};
/** The object after it was stored and read again. */
const stored = (object: ClusterVersion, status: ClusterVersionStatus): ClusterVersion =>
  ClusterVersion.schema.parse(JSON.parse(JSON.stringify({ ...object, status })));
const quietRisks = { pendingDeletions: [], operators: [] };
const accepted = {
  step: 'PayloadLoaded' as const,
  message: 'Payload loaded',
  failed: false,
  release: { version: '4.20.2', image: 'r@sha256:2' },
  local: false,
  verified: true,
  acceptedRisks: '',
};

describe('an install', () => {
  const object = clusterVersion({ status: { desired: { version: '', image: '' } } });

  test('begins with nothing available and everything ahead', () => {
    const { status } = judge({ object, work: report({ acceptance: accepted }), risks: quietRisks });
    expect(said(status, 'Available')).toBe('False');
    expect(said(status, 'Failing')).toBe('False');
    expect(said(status, 'Progressing')).toBe('True Working towards 4.20.2');
    expect(said(status, 'RetrievedUpdates')).toBe('False');
    expect(said(status, 'ReleaseAccepted')).toBe('True PayloadLoaded Payload loaded');
    expect(said(status, 'ImplicitlyEnabledCapabilities')).toBe('False AsExpected Capabilities match configured spec');
    expect(said(status, 'Upgradeable')).toBe(
      'False ClusterVersionUpdating An update is already in progress and the details are in the Progressing condition.',
    );
    expect(status).toMatchObject({
      desired: { version: '4.20.2', image: 'r@sha256:2' },
      observedGeneration: 3,
      versionHash: 'DL-FFQ2Uem8=',
      capabilities: { enabledCapabilities: ['Build'], knownCapabilities: ['Build', 'Console'] },
      history: [{ state: 'Partial', version: '4.20.2', image: 'r@sha256:2', verified: true, completionTime: null }],
      availableUpdates: null,
    });
  });

  test('is done although operators are degraded, and says that they are', () => {
    const degraded = failure({
      reason: 'ClusterOperatorDegraded',
      message: 'Cluster operator dns is degraded',
      effect: 'Report',
    });
    const { status } = judge({ object, work: report({ done: 903, completed: true, reconciling: true, failure: degraded }) });
    expect(said(status, 'Available')).toBe('True Done applying 4.20.2');
    expect(said(status, 'Failing')).toBe('True ClusterOperatorDegraded Cluster operator dns is degraded');
    expect(said(status, 'Progressing')).toBe(
      'False ClusterOperatorDegraded Error while reconciling 4.20.2: the cluster operator dns is degraded',
    );
    expect(status.history).toMatchObject([{ state: 'Completed', completionTime: '2026-01-02T00:00:00Z' }]);
  });
});

describe('an update', () => {
  const object = clusterVersion({
    status: {
      history: [entry('4.20.1', 'Completed')],
      conditions: [{ type: 'Available', status: 'True', message: 'Done applying 4.20.1', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  });

  test('leaves the cluster available, and says what is waited for', () => {
    const { status, changesAtMs } = judge({
      object,
      work: report({ done: 606, failure: failure({ effect: 'None' }), operatorStarts: new Map([['dns', minutesAgo(20)]]) }),
    });
    expect(said(status, 'Available')).toBe('True Done applying 4.20.1');
    expect(said(status, 'Failing')).toBe('False');
    expect(said(status, 'Progressing')).toBe(
      'True ClusterOperatorUpdating Working towards 4.20.2: 606 of 903 done (67% complete), waiting on dns',
    );
    expect(changesAtMs).toBe(NOW + 10 * 60_000 + 1);
  });

  test('is completed once', () => {
    const first = judge({ object, work: report({ done: 903, completed: true, reconciling: true }) }).status;
    const second = clusterVersionStatus({ object: stored(object, first), work: report({ reconciling: true }) }, NOW + 3_600_000).status;
    expect(said(second, 'Available')).toBe('True Done applying 4.20.2');
    expect(said(second, 'Progressing')).toBe('False Cluster version is 4.20.2');
    expect(second.history).toEqual(first.history);
    expect(second.history?.map(({ version, state }) => `${version} ${state}`)).toEqual(['4.20.2 Completed', '4.20.1 Completed']);
  });

  test('records why the release was taken', () => {
    const acceptance = { ...accepted, acceptedRisks: 'Forced through blocking failures: x' };
    const { status } = judge({ object, work: report({ acceptance }) });
    expect(status.history?.[0]?.acceptedRisks).toBe('Forced through blocking failures: x');
  });

  test('that is refused leaves the release that is applied where it is', () => {
    const refused = {
      ...accepted,
      step: 'PreconditionChecks' as const,
      failed: true,
      message: 'Preconditions failed',
      acceptedRisks: 'no',
    };
    const work = report({
      reconciling: true,
      release: { version: '4.20.1', image: 'r@sha256:1' },
      acceptance: { ...refused, release: { version: '4.30.0', image: 'r@sha256:30' } },
    });
    const { status } = judge({ object, work });
    expect(said(status, 'ReleaseAccepted')).toBe('False PreconditionChecks Preconditions failed');
    expect(said(status, 'Progressing')).toBe('False Cluster version is 4.20.1');
    expect(status.desired).toEqual({ version: '4.20.1', image: 'r@sha256:1' });
    expect(status.history?.[0]).not.toHaveProperty('acceptedRisks');
  });
});

test('a wrong spec is said, goes on with the rest, and is no longer said once it is right', () => {
  const object = clusterVersion({ spec: { upstream: 'x', clusterID: 'abc' } });
  const work = report({ reconciling: true, release: { version: '4.20.1', image: 'r@sha256:1' } });
  const { status, invalid } = judge({ object, work });
  expect(invalid.map(({ field }) => field)).toEqual(['spec.upstream', 'spec.clusterID']);
  expect(said(status, 'Invalid')).toBe(
    'True InvalidClusterVersion The cluster version is invalid:\n* spec.upstream: Invalid value: "x": must be a valid URL or empty\n* spec.clusterID: Invalid value: "abc": must be an RFC4122-variant UUID\n',
  );
  expect(said(status, 'Progressing')).toBe('False InvalidClusterVersion Stopped at 4.20.1: the cluster version is invalid');
  const mended = clusterVersionStatus({ object: stored(clusterVersion(), status), work }, NOW).status;
  expect(said(mended, 'Invalid')).toBeUndefined();
  expect(said(mended, 'Progressing')).toBe('False Cluster version is 4.20.1');
});

test('one wrong field is said on one line', () => {
  const { status } = judge({ object: clusterVersion({ spec: { clusterID: 'abc' } }), work: report() });
  expect(said(status, 'Invalid')).toBe(
    'True InvalidClusterVersion The cluster version is invalid: spec.clusterID: Invalid value: "abc": must be an RFC4122-variant UUID',
  );
});

test('risks come and go with the Upgradeable condition, which is never True', () => {
  const dns = ClusterOperator.schema.parse({
    metadata: { name: 'dns' },
    spec: {},
    status: { conditions: [{ type: 'Upgradeable', status: 'False', message: 'migrate first' }] },
  });
  const work = report({ reconciling: true });
  const { status } = judge({ work, risks: { ...quietRisks, operators: [dns] } });
  expect(said(status, 'Upgradeable')).toBe('False RiskNameNotCompatibleWithReasonProperty migrate first');
  const later = judge({ object: stored(clusterVersion(), status), work, risks: quietRisks }).status;
  expect(said(later, 'Upgradeable')).toBeUndefined();
});

test('updates are listed with what the graph says of the running release', () => {
  const work = report({ reconciling: true, release: { version: '4.20.1', image: 'mirror/r@sha256:1' } });
  const { status } = judge({
    work,
    updates: {
      retrieved: { type: 'RetrievedUpdates', status: 'True' },
      available: [{ version: '4.20.2', image: 'r@sha256:2' }],
      conditional: [],
      current: {
        version: '4.20.1',
        image: 'r@sha256:1',
        url: 'https://example.com/errata',
        channels: ['fast', 'stable'],
        architecture: 'Multi',
      },
    },
  });
  expect(said(status, 'RetrievedUpdates')).toBe('True');
  expect(status.availableUpdates).toEqual([{ version: '4.20.2', image: 'r@sha256:2' }]);
  expect(status.desired).toEqual({
    version: '4.20.1',
    image: 'mirror/r@sha256:1',
    url: 'https://example.com/errata',
    channels: ['fast', 'stable'],
  });
});

test('the architecture is shown under its gate alone', () => {
  const work = report({
    release: { version: '4.20.1', image: 'i', architecture: 'Multi' },
    featureGates: new Set(['ImageStreamImportMode']),
  });
  expect(judge({ work }).status.desired?.architecture).toBe('Multi');
});

test('before there is any work the spec is judged, and what is stored stays', () => {
  const object = clusterVersion({ status: { history: [entry('4.20.1', 'Completed')], versionHash: 'h', observedGeneration: 2 } });
  const { status } = judge({ object });
  expect(status).toMatchObject({
    versionHash: 'h',
    observedGeneration: 2,
    desired: { version: '4.20.1' },
    history: [{ version: '4.20.1' }],
  });
  expect(said(status, 'Progressing')).toBeUndefined();
});

test('nothing changes when nothing has happened', () => {
  const work = report({ done: 5, failure: failure({ effect: 'None' }), acceptance: accepted });
  const first = judge({ work, risks: quietRisks }).status;
  const object = stored(clusterVersion(), first);
  const again = clusterVersionStatus({ object, work, risks: quietRisks }, NOW + 60_000).status;
  expect(again).toEqual(object.status);
});

test('what cannot be reconciled at all is not well, stays available where it was, and may be in the middle of an update', () => {
  const progressing = { type: 'Progressing', status: 'True', message: 'Working', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const status = clusterVersionTrouble(clusterVersion({ status: { conditions: [progressing] } }), 'no image', NOW);
  expect(said(status, 'Available')).toBe('False');
  expect(said(status, 'Failing')).toBe('True no image');
  expect(said(status, 'Progressing')).toBe('True Error ensuring the cluster version is up to date: no image');
  const available = { type: 'Available', status: 'True', message: 'Done', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const object = clusterVersion({ status: { conditions: [available], observedGeneration: 2 } });
  const healthy = clusterVersionTrouble(object, 'no image', NOW);
  expect(said(healthy, 'Available')).toBe('True Done');
  expect(healthy.observedGeneration).toBe(2);
});
