import { describe, expect, it } from 'vitest';
import { ClusterOperator, ClusterVersion, FeatureGate } from './index.ts';

const metadata = { name: 'version' };

describe('reading ClusterVersion', () => {
  it('reads what is there, and misses what nobody can read', () => {
    const read = ClusterVersion.schema.parse({
      metadata,
      spec: { clusterID: 'a', channel: 'stable', unheardOf: 1 },
      status: {
        availableUpdates: null,
        desired: { version: '4.1.0', image: 'i' },
        history: [{ state: 'Partial', image: 'i', completionTime: null }, 'nothing'],
        conditions: [
          { type: 'Available', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' },
          { type: 'Odd', status: 'Perhaps' },
        ],
      },
    });
    expect(read.spec).toMatchObject({ clusterID: 'a', channel: 'stable', unheardOf: 1 });
    expect(read.status?.availableUpdates).toBeNull();
    expect(read.status?.history).toEqual([
      { state: 'Partial', image: 'i', completionTime: null, startedTime: '', version: '', verified: false },
    ]);
    expect(read.status?.conditions).toEqual([
      { type: 'Available', status: 'True', reason: '', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ]);
  });

  it('refuses an override that does not name its object', () => {
    const wrong = { metadata, spec: { clusterID: 'a', overrides: [{ kind: 'Deployment', unmanaged: true }] } };
    expect(ClusterVersion.schema.safeParse(wrong).error?.issues.map(({ path }) => path.join('.'))).toEqual([
      'spec.overrides.0.group',
      'spec.overrides.0.namespace',
      'spec.overrides.0.name',
    ]);
  });
});

describe('reading what others write', () => {
  it('takes an operator without a spec, and one whose status is nonsense', () => {
    expect(ClusterOperator.schema.parse({ metadata }).status).toBeUndefined();
    expect(ClusterOperator.schema.parse({ metadata, spec: {}, status: 'x' }).status).toBeUndefined();
    expect(
      ClusterOperator.schema.parse({ metadata, spec: {}, status: { versions: [{ name: 'operator', version: '1' }, {}] } }).status,
    ).toEqual({ versions: [{ name: 'operator', version: '1' }], conditions: undefined, relatedObjects: undefined });
  });

  it('lists the gates of each release', () => {
    const gates = { version: '4.1.0', enabled: [{ name: 'A' }], disabled: [{ name: 'B' }] };
    const read = FeatureGate.schema.parse({ metadata, spec: {}, status: { featureGates: [gates] } });
    expect(read.spec?.featureSet).toBe('');
    expect(read.status?.featureGates).toEqual([gates]);
  });
});
