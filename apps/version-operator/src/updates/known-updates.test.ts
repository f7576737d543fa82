import { ClusterVersion } from '@flotilla/api/config';
import { type GraphUpdates, type Retrieval, retrievalFailed } from '@flotilla/release';
import { describe, expect, test } from 'vitest';
import { knownUpdates, queryOf, type RunningRelease } from './known-updates.ts';

const object = (spec: object = {}) =>
  ClusterVersion.schema.parse({ metadata: { name: 'version' }, spec: { clusterID: 'id', channel: 'stable-4.20', ...spec } });
const plain: RunningRelease = { version: '4.20.1' };
const multi: RunningRelease = { version: '4.20.1', architecture: 'Multi' };

describe('queryOf', () => {
  test.each([
    { name: 'an option', spec: { upstream: 'https://spec.example' }, service: 'https://option.example', want: 'https://option.example' },
    { name: 'the spec', spec: { upstream: 'https://spec.example' }, service: undefined, want: 'https://spec.example' },
    { name: 'nobody', spec: {}, service: undefined, want: 'https://api.openshift.com/api/upgrades_info/v1/graph' },
  ])('the service is named by $name', ({ spec, service, want }) =>
    expect(queryOf(object(spec), plain, { service, machine: 'arm64' })).toEqual({
      service: want,
      clusterId: 'id',
      architecture: 'arm64',
      channel: 'stable-4.20',
      version: '4.20.1',
    }),
  );

  test.each([
    { name: 'the machine has', spec: {}, running: plain, want: 'amd64' },
    { name: 'the release has', spec: {}, running: multi, want: 'multi' },
    { name: 'is asked for', spec: { desiredUpdate: { architecture: 'Multi', version: '4.20.1' } }, running: plain, want: 'multi' },
  ])('the architecture is the one that $name', ({ spec, running, want }) =>
    expect(queryOf(object(spec), running, { machine: 'amd64' }).architecture).toBe(want),
  );
});

describe('knownUpdates', () => {
  const risk = {
    name: 'Leak',
    message: 'It leaks.',
    url: 'https://example.com',
    matchingRules: [{ type: 'PromQL', promql: { promql: 'q' } }],
    conditions: undefined,
  };
  const updates: GraphUpdates = {
    current: { version: '4.20.1', image: 'one' },
    updates: [{ version: '4.20.2', image: 'two' }],
    conditional: [{ release: { version: '4.20.3', image: 'three' }, risks: [risk] }],
  };
  const retrieval: Retrieval = { key: 'k', attemptedAtMs: 0, freshAtMs: 0, updates };
  const context = { retrieval, answer: () => ({ matches: false }), listed: [], nowMs: 0 };

  test('lists what is recommended, and under which conditions', () => {
    const known = knownUpdates(context);
    expect(known.retrieved).toEqual({ type: 'RetrievedUpdates', status: 'True' });
    expect(known.available?.map(({ version }) => version)).toEqual(['4.20.3', '4.20.2']);
    expect(known.conditional).toMatchObject([{ release: { version: '4.20.3' }, conditions: [{ type: 'Recommended', status: 'True' }] }]);
    expect(known.current?.image).toBe('one');
  });

  test('what applies is not recommended', () =>
    expect(knownUpdates({ ...context, answer: () => ({ matches: true }) }).available?.map(({ version }) => version)).toEqual(['4.20.2']));

  test('a failure says why, and what was known stays', () => {
    const known = knownUpdates({ ...context, retrieval: { ...retrieval, refusal: retrievalFailed('RemoteFailed', 'no route') } });
    expect(known.retrieved).toEqual({
      type: 'RetrievedUpdates',
      status: 'False',
      reason: 'RemoteFailed',
      message: 'Unable to retrieve available updates: no route',
    });
    expect(known.available).toHaveLength(2);
  });

  test('where nothing is known there is nothing', () =>
    expect(knownUpdates({ ...context, retrieval: { key: 'k', attemptedAtMs: 0, freshAtMs: 0 } })).toMatchObject({
      available: null,
      conditional: [],
    }));
});
