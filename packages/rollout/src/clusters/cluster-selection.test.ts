import { fixOf } from '@flotilla/api/ran';
import { measure } from '@flotilla/control-plane/fuzzing';
import { expect, test } from 'vitest';
import { buildManagedCluster } from '../../testing/policy-builders.ts';
import { findNobodySelected, type SelectionSpec, selectClusters } from './cluster-selection.ts';

const fleet = [
  buildManagedCluster('spoke-3', { site: 'north', role: 'edge' }),
  buildManagedCluster('spoke-1', { site: 'south', role: 'edge', bare: '' }),
  buildManagedCluster('spoke-2', { site: 'north' }),
];
const expression = (key: string, operator: string, values?: string[]): SelectionSpec => ({
  clusterLabelSelectors: [{ matchExpressions: [{ key, operator, values }] }],
});

test.each<{ name: string; spec: SelectionSpec; want: string[] }>([
  {
    name: 'keeps explicit clusters in spec order, once each',
    spec: { clusters: ['spoke-2', 'spoke-1', 'spoke-2'] },
    want: ['spoke-2', 'spoke-1'],
  },
  { name: 'sorts what selectors find', spec: { clusterSelector: ['site=north'] }, want: ['spoke-2', 'spoke-3'] },
  {
    name: 'puts explicit clusters before selected ones',
    spec: { clusters: ['spoke-3'], clusterSelector: ['role=edge'] },
    want: ['spoke-3', 'spoke-1'],
  },
  { name: 'reads a selector without = as an empty value', spec: { clusterSelector: ['bare'] }, want: ['spoke-1'] },
  { name: 'does not read a selector without = as mere existence', spec: { clusterSelector: ['site'] }, want: [] },
  { name: 'ignores a selector with two =', spec: { clusterSelector: ['site=north=x', 'role=edge'] }, want: ['spoke-1', 'spoke-3'] },
  {
    name: 'unites both kinds of selectors',
    spec: { clusterSelector: ['bare='], clusterLabelSelectors: [{ matchLabels: { site: 'north', role: 'edge' } }] },
    want: ['spoke-1', 'spoke-3'],
  },
  {
    name: 'selects every cluster with an empty label selector',
    spec: { clusterLabelSelectors: [{}] },
    want: ['spoke-1', 'spoke-2', 'spoke-3'],
  },
  { name: 'selects nothing with an empty list of selectors', spec: { clusterLabelSelectors: [] }, want: [] },
  { name: 'evaluates In', spec: expression('role', 'In', ['edge', 'core']), want: ['spoke-1', 'spoke-3'] },
  { name: 'evaluates NotIn as true for clusters without the label', spec: expression('role', 'NotIn', ['edge']), want: ['spoke-2'] },
  { name: 'evaluates Exists', spec: expression('bare', 'Exists'), want: ['spoke-1'] },
  { name: 'evaluates DoesNotExist', spec: expression('role', 'DoesNotExist', []), want: ['spoke-2'] },
  { name: 'does not match what every object inherits', spec: expression('constructor', 'Exists'), want: [] },
  {
    name: 'accepts canaries that are selected',
    spec: { clusters: ['spoke-1', 'spoke-2'], remediationStrategy: { canaries: ['spoke-2'] } },
    want: ['spoke-1', 'spoke-2'],
  },
])('$name', ({ spec, want }) => expect(selectClusters(spec, fleet)).toEqual({ clusters: want }));

test('as many selectors and clusters as are accepted take no time to speak of', async () => {
  const large = Array.from({ length: 20_000 }, (_, index) => buildManagedCluster(`c${index}`, { a: 'b' }));
  const clusterSelector = Array.from({ length: 5_000 }, (_, index) => `key-${index}=value`);
  let selected: unknown;
  const { pauseMs } = await measure(() => {
    selected = selectClusters({ clusterSelector }, large);
  });
  expect(selected).toEqual({ clusters: [] });
  expect(pauseMs).toBeLessThan(1_000);
});

const details = 'Unable to select clusters: cannot obtain all the details about the clusters in the CR: ';
const at = 'spec.clusterLabelSelectors[0].matchExpressions[0]';
test.each<{ name: string; spec: SelectionSpec; message: string; missing?: string[] }>([
  { name: 'refuses a spec without any selection', spec: {}, message: `${details}no cluster specified for remediation` },
  {
    name: 'names the first missing cluster and keeps them all',
    spec: { clusters: ['spoke-1', 'gone-b', 'gone-a'] },
    message: 'Unable to select clusters: cluster gone-b is not a ManagedCluster',
    missing: ['gone-b', 'gone-a'],
  },
  {
    name: 'refuses a canary that is not selected',
    spec: { clusters: ['spoke-1'], remediationStrategy: { canaries: ['spoke-1', 'spoke-2'] } },
    message: 'Unable to select clusters: canary cluster spoke-2 is not in the list of clusters',
  },
  {
    name: 'refuses an unknown operator',
    spec: expression('role', 'in', ['edge']),
    message: `${details}${at}.operator "in" is not known; use In, NotIn, Exists or DoesNotExist`,
  },
  {
    name: 'refuses an operator that every object inherits',
    spec: expression('role', 'constructor'),
    message: `${details}${at}.operator "constructor" is not known; use In, NotIn, Exists or DoesNotExist`,
  },
  {
    name: 'refuses In without values',
    spec: expression('role', 'In'),
    message: `${details}${at}.values is empty; give operator In at least one value`,
  },
  {
    name: 'refuses Exists with values',
    spec: expression('role', 'Exists', ['edge']),
    message: `${details}${at}.values has "edge"; operator Exists takes no values, remove them`,
  },
])('$name', ({ spec, message, missing }) => {
  expect(selectClusters(spec, fleet)).toEqual({ failure: { reason: 'ClusterNotFound', message, ...(missing && { missing }) } });
});

test.each<{ name: string; spec: SelectionSpec; says: string }>([
  { name: 'a label', spec: { clusterLabelSelectors: [{ matchLabels: { fleet: 'egde' } }] }, says: 'fleet=egde matches 0 of 3' },
  { name: 'an expression', spec: expression('site', 'In', ['east', 'west']), says: 'site in (east,west) matches 0 of 3' },
  { name: 'a label that no cluster has', spec: expression('rack', 'Exists'), says: 'rack matches 0 of 3' },
  { name: 'the old form', spec: { clusterSelector: ['fleet=egde'] }, says: 'fleet=egde matches 0 of 3' },
  {
    name: 'several selectors',
    spec: {
      clusterLabelSelectors: [
        { matchLabels: { fleet: 'egde', tier: '1' } },
        ...(expression('role', 'DoesNotExist').clusterLabelSelectors ?? []),
      ],
    },
    says: 'fleet=egde,tier=1 or !role matches 0 of 2',
  },
  { name: 'an empty list', spec: { clusters: [] }, says: 'spec.clusters is empty' },
])('$name that selects nobody is told with the selector and the size of the fleet', ({ spec, says }) => {
  const managed = says.endsWith('2') ? fleet.slice(0, 2) : fleet;
  const found = findNobodySelected(spec, selectClusters(spec, managed), managed.length);
  expect(found).toEqual({ reason: 'NoClustersSelected', message: `${says}; ${fixOf('NoClustersSelected')}` });
});

test('a hundred selectors do not fill the condition', () => {
  const spec = { clusterSelector: Array.from({ length: 100 }, (_, index) => `site=${index}`) };
  expect(findNobodySelected(spec, selectClusters(spec, fleet), 3)?.message).toMatch(/^site=0 or .* or site=4 and 95 more matches 0 of 3; /);
});

test('a selector that finds nobody beside clusters that are named is fine, and so is a refusal', () => {
  const named = { clusters: ['spoke-1'], clusterSelector: ['fleet=egde'] };
  expect(findNobodySelected(named, selectClusters(named, fleet), 3)).toBeUndefined();
  expect(findNobodySelected({}, selectClusters({}, fleet), 3)).toBeUndefined();
});
