import { type KubeObject, KubeObject as Parsed } from '@flotilla/api';
import { PreCachingConfig } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { render } from './command.ts';
import { judgeTalmHub, type TalmHub } from './judge.ts';

const nothing: TalmHub = { managers: [], upgrades: [], configs: [], groups: [], refusals: new Map(), keepsOurStatus: true };
const object = (name: string, rest: object = {}): KubeObject => Parsed.parse({ metadata: { name, namespace: 'ns' }, ...rest });
const spec = { clusters: ['a'], managedPolicies: ['p'], remediationStrategy: { maxConcurrency: 1 } };
const condition = (type: string, status: string) => ({
  type,
  status,
  reason: 'X',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const upgrade = (status: object = { status: {} }, more: object = {}) =>
  Parsed.parse({ metadata: { name: 'u', namespace: 'ns' }, spec, status, ...more });
const judged = (hub: Partial<TalmHub>) =>
  judgeTalmHub({ ...nothing, ...hub }).objects.map(({ verdict, why, fix }) =>
    [verdict, why, ...(fix === undefined ? [] : [fix])].join(' | '),
  );

test.each<{ name: string; hub: Partial<TalmHub>; want: string[] }>([
  { name: 'a hub with nothing', hub: {}, want: [] },
  {
    name: 'a manager that runs',
    hub: { managers: [object('cluster-group-upgrades-controller-manager-v2', { spec: { replicas: 1 } })] },
    want: [expect.stringMatching(/^stopFirst \| TALM runs.*kubectl -n ns scale deployment cluster-group-upgrades-controller-manager-v2/)],
  },
  {
    name: 'a manager that OLM installed',
    hub: {
      managers: [
        object('m', {
          metadata: {
            name: 'm',
            namespace: 'ns',
            ownerReferences: [{ apiVersion: 'a/v1', kind: 'ClusterServiceVersion', name: 'talm.v4', uid: 'u' }],
          },
        }),
      ],
    },
    want: [
      'stopFirst | TALM runs, and both would act on the same upgrades | delete its Subscription, then kubectl -n ns delete clusterserviceversions.operators.coreos.com talm.v4: OLM undoes a scaling',
    ],
  },
  {
    name: 'a manager that is scaled to 0',
    hub: { managers: [object('cluster-group-upgrades-controller-manager', { spec: { replicas: 0 } })] },
    want: ['carriesOver | TALM is scaled to 0'],
  },
  { name: 'a manager that says no number', hub: { managers: [object('m', { spec: {} })] }, want: [expect.stringMatching(/^stopFirst/)] },
  { name: 'a group', hub: { groups: [object('g')] }, want: [expect.stringMatching(/^missing \| this kind is not carried out/)] },
  {
    name: 'the CRD of the reference',
    hub: { upgrades: [upgrade()], keepsOurStatus: false },
    want: [expect.stringMatching(/^differs \| it drops what only Flotilla writes/), expect.stringMatching(/^carriesOver/)],
  },
  {
    name: 'an upgrade that has not begun',
    hub: { upgrades: [upgrade()] },
    want: ['carriesOver | it is planned anew, and waits for the same'],
  },
  {
    name: 'one in mid-rollout',
    hub: {
      upgrades: [
        upgrade({
          conditions: [condition('Progressing', 'True')],
          remediationPlan: [['a'], ['b']],
          status: { startedAt: '2026-01-01T00:00:00Z', currentBatch: 2 },
        }),
      ],
    },
    want: ['carriesOver | it runs, and goes on in batch 2 of 2'],
  },
  {
    name: 'one that has ended',
    hub: { upgrades: [upgrade({ conditions: [condition('Succeeded', 'True')], status: { completedAt: '2026-01-01T00:00:00Z' } })] },
    want: ['carriesOver | it has ended and stays as it is'],
  },
  {
    name: 'one that pre-caches',
    hub: { upgrades: [upgrade({ status: {}, precaching: { status: { a: 'Active', b: 'NotStarted', c: 'Starting' } } })] },
    want: [expect.stringMatching(/^differs \| clusters that pre-cache now \(2\) begin anew/)],
  },
  {
    name: 'one whose pre-caching failed everywhere',
    hub: { upgrades: [upgrade({ status: {}, precaching: { status: { a: 'PrecacheTimeout' } } })] },
    want: [expect.stringMatching(/^differs \| every cluster failed pre-caching.*--talm-strict/)],
  },
  {
    name: 'one that wants a backup',
    hub: { upgrades: [upgrade({ status: {} }, { spec: { ...spec, backup: true } })] },
    want: [expect.stringMatching(/^differs \| it wants a backup.*--backup-image/)],
  },
  {
    name: 'one whose spec is wrong',
    hub: { upgrades: [upgrade({ status: {} }, { spec: { ...spec, remediationStrategy: { maxConcurrency: 'all' } } })] },
    want: [
      expect.stringMatching(
        /^refused \| spec\.remediationStrategy\.maxConcurrency: .* \| correct spec\.remediationStrategy\.maxConcurrency$/,
      ),
    ],
  },
  {
    name: 'one with an annotation that is not known',
    hub: { upgrades: [object('u', { metadata: { name: 'u', namespace: 'ns', annotations: { 'flotilla.io/windowstart': 'x' } }, spec })] },
    want: [expect.stringMatching(/^refused \| flotilla\.io\/windowstart is not known; did you mean flotilla\.io\/window-start/)],
  },
  {
    name: 'one that this hub would hold',
    hub: {
      upgrades: [upgrade()],
      refusals: new Map([['ns/u', { reason: 'NotAllManagedPoliciesExist' as const, message: 'Missing managed policies: [p]' }]]),
    },
    want: [expect.stringMatching(/^refused \| Missing managed policies: \[p\] \| see that each policy is there/)],
  },
])('$name', ({ hub, want }) => expect(judged(hub)).toEqual(want));

test('fields of a PreCachingConfig that TALM ignores are named', () => {
  const config = (overrides: object) => PreCachingConfig.schema.parse({ metadata: { name: 'c', namespace: 'ns' }, spec: { overrides } });
  expect(judged({ configs: [config({ operatorsPackagesAndChannels: ['a:b'] })] })).toEqual(['carriesOver | it means the same']);
  expect(judged({ configs: [config({ platformImage: 'x', preCacheImage: 'y', operatorsIndexes: [] })] })).toEqual([
    expect.stringMatching(
      /^differs \| TALM ignores spec\.overrides\.platformImage, spec\.overrides\.preCacheImage; here they count .*--precache-image-allow/,
    ),
  ]);
});

test('what has to be done first is listed first, with its next step', () => {
  const check = judgeTalmHub({ ...nothing, upgrades: [upgrade()], groups: [object('g')], managers: [object('m')] });
  expect(check.objects.map(({ verdict }) => verdict)).toEqual(['stopFirst', 'missing', 'carriesOver']);
  const text = render(check);
  expect(text).toContain('ImageBasedGroupUpgrade ns/g   missing');
  expect(text).toMatch(/Next steps:\n- Deployment ns\/m: kubectl -n ns scale/);
  expect(render({ objects: [] })).toContain('nothing to carry over');
});
