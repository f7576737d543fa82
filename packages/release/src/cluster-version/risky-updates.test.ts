import { ClusterVersion } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { clusterVersion, NOW, report } from '../../testing/cluster-version-builders.ts';
import type { ClusterRisk } from '../update-graph/cluster-risks.ts';
import { ACCEPT_RISKS, acceptedExposure, type FoundUpdates } from './risky-updates.ts';
import { clusterVersionStatus } from './status.ts';

const release = (version: string) => ({ version, image: `r@sha256:${version}` });
const leak = { name: 'Leak', message: 'It leaks.', url: 'https://example.com', matchingRules: [{ type: 'Always' }], conditions: undefined };
const alert: ClusterRisk = { name: 'Broken', message: 'It is broken.', reason: 'Alert:firing', details: 'It is broken.', isOfEvery: true };
const found = (more: Partial<FoundUpdates> = {}): FoundUpdates => ({
  updates: [release('4.20.3'), release('4.21.0')],
  conditional: [{ release: release('4.21.1'), risks: [leak] }],
  verdicts: [['Leak', { status: 'True', reason: 'Match', message: '' }]],
  alerts: [],
  ...more,
});
const gates = new Set([ACCEPT_RISKS]);
const gate = { adminGates: { 'ack-4.20-apis': 'APIs go away, see https://example.com/apis' } };

/** Updates that a cluster at 4.20.2 lists, by version: available, or the reason why not recommended. */
function listed({
  accept = [],
  risks = {},
  featureGates = gates,
  ...more
}: {
  accept?: string[];
  risks?: object;
  featureGates?: ReadonlySet<string>;
  alerts?: ClusterRisk[];
}) {
  const spec = { desiredUpdate: { acceptRisks: accept.map((name) => ({ name })) } };
  const object = clusterVersion({ spec: accept.length > 0 ? spec : {} });
  const given = found(more);
  const { status } = clusterVersionStatus(
    {
      object,
      work: report({ reconciling: true, featureGates }),
      updates: { retrieved: { type: 'RetrievedUpdates', status: 'True' }, available: given.updates, conditional: [], found: given },
      risks: { pendingDeletions: [], operators: [], ...risks },
    },
    NOW,
  );
  const because = (status.conditionalUpdates ?? []).map(({ release: { version }, conditions }) => [version, conditions?.[0]?.reason]);
  return {
    status: ClusterVersion.schema.parse({ ...object, status: JSON.parse(JSON.stringify(status)) }),
    available: status.availableUpdates?.map(({ version }) => version) ?? [],
    because: Object.fromEntries(because),
    risks: status.conditionalUpdateRisks?.map(({ name }) => name),
  };
}

describe('under the gate of accepted risks', () => {
  test('without the gate nothing of it shows', () => {
    const { available, because, risks } = listed({ featureGates: new Set(), risks: gate, alerts: [alert] });
    expect([available, because, risks]).toEqual([['4.20.3', '4.21.0'], {}, undefined]);
  });

  test('an update that only the graph speaks against', () => {
    expect(listed({})).toMatchObject({ available: ['4.21.0', '4.20.3'], because: { '4.21.1': 'Leak' }, risks: ['Leak'] });
  });

  test('the cluster’s own risks speak against another minor version, a patch stays available', () => {
    expect(listed({ risks: gate })).toMatchObject({
      available: ['4.20.3'],
      because: { '4.21.1': 'MultipleReasons', '4.21.0': 'ExposedToRisks' },
      risks: ['AdminAck-ack-4.20-apis', 'Leak'],
    });
  });

  test('alerts speak against every update', () => {
    const { available, because } = listed({ alerts: [alert] });
    expect(available).toEqual([]);
    expect(because).toEqual({ '4.21.1': 'MultipleReasons', '4.21.0': 'Broken', '4.20.3': 'Broken' });
  });

  test('what is accepted speaks against nothing', () => {
    const given = { risks: gate, alerts: [alert], accept: ['Broken', 'AdminAck-ack-4.20-apis'] };
    expect(listed(given)).toMatchObject({
      available: ['4.21.0', '4.20.3'],
      because: { '4.21.1': 'Leak', '4.21.0': 'AllExposedRisksAccepted', '4.20.3': 'AllExposedRisksAccepted' },
    });
  });

  test('and is recorded for the update that is taken', () => {
    const { status: object } = listed({ risks: gate, alerts: [alert], accept: ['Broken', 'AdminAck-ack-4.20-apis', 'Other'] });
    expect(acceptedExposure(object, release('4.21.0').image).names).toEqual(['AdminAck-ack-4.20-apis', 'Broken']);
    expect(acceptedExposure(object, release('4.20.3').image).names).toEqual(['Broken']);
    expect(acceptedExposure(object, 'elsewhere').names).toEqual([]);
  });
});
