import { ManifestConfig } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import { configOf, matchesResource, refusalOfConfigs } from './manifest-config.ts';

const meta = { ordinal: 0, group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps', name: 'app-one', namespace: 'ns-1' };
const identifier = (change: { [field in 'group' | 'resource' | 'name' | 'namespace' | 'kind']?: string | undefined }) => ({
  group: '',
  resource: 'configmaps',
  name: 'app-one',
  namespace: 'ns-1',
  ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)),
});
const config = (change: Record<string, unknown>, resourceIdentifier = identifier({})) =>
  ManifestConfig.parse({ resourceIdentifier, ...change });

describe('an identifier', () => {
  test.each([
    { name: 'the whole name', change: {}, want: true },
    { name: 'another name', change: { name: 'app' }, want: false },
    { name: '* for every name', change: { name: '*' }, want: true },
    { name: '* in both', change: { name: '*', namespace: '*' }, want: true },
    { name: 'the beginning', change: { name: 'app-*' }, want: true },
    { name: 'the end', change: { name: '*-one', namespace: '*1' }, want: true },
    { name: 'both ends', change: { name: 'a*e' }, want: true },
    { name: 'several parts in order', change: { name: '*p*-*n*' }, want: true },
    { name: 'several parts out of order', change: { name: '*n*p*' }, want: false },
    { name: 'ends that would overlap', change: { name: 'app-o*o-one' }, want: false },
    { name: 'another end', change: { name: '*-two' }, want: false },
    { name: 'another namespace', change: { name: '*', namespace: 'ns-2' }, want: false },
    { name: 'no namespace', change: { name: '*', namespace: '' }, want: false },
    { name: 'a sign of regular expressions, which is itself', change: { name: 'app.one' }, want: false },
    { name: '* in the resource, which the stock agent takes literally', change: { resource: '*' }, want: false },
    { name: '* in the group, which the stock agent takes literally', change: { group: '*' }, want: false },
  ])('with $name: $want', ({ change, want }) => expect(matchesResource(identifier(change), meta)).toBe(want));

  test('of * means objects of the whole cluster too', () =>
    expect(matchesResource(identifier({ name: '*', namespace: '*' }), { ...meta, namespace: '' })).toBe(true));

  test('of many * takes no time', () => {
    const started = process.cpuUsage();
    expect(matchesResource(identifier({ name: `${'*a'.repeat(100)}*x` }), { ...meta, name: 'a'.repeat(253) })).toBe(false);
    // One that backtracks takes years.
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(1_000);
  });
});

test('each option is of the first entry that matches and has it, the scrape type of the last', () => {
  const feedbackRules = [{ type: 'WellKnownStatus' }];
  const all = identifier({ name: '*' });
  const configs = [
    config({ updateStrategy: { type: 'ReadOnly' } }, identifier({ name: 'other' })),
    config({ feedbackScrapeType: 'Watch' }),
    config({ feedbackRules: [], updateStrategy: { type: 'CreateOnly' } }, all),
    config({ feedbackRules, updateStrategy: { type: 'Update' }, feedbackScrapeType: 'Poll' }, all),
  ];
  expect(configOf(configs, meta)).toMatchObject({ feedbackRules, updateStrategy: { type: 'CreateOnly' }, feedbackScrapeType: 'Poll' });
  expect(configOf(configs, { ...meta, resource: 'secrets' })).toBeUndefined();
});

describe('an option that is not understood is refused:', () => {
  test.each([
    {
      name: 'a strategy',
      change: { updateStrategy: { type: 'Merge' } },
      says: 'manifestConfigs[0].updateStrategy.type "Merge" is unknown',
    },
    {
      name: 'a field of a strategy',
      change: { updateStrategy: { type: 'Update', once: true } },
      says: 'manifestConfigs[0].updateStrategy.once',
    },
    {
      name: 'a field of server-side apply',
      change: { updateStrategy: { serverSideApply: { prune: true } } },
      says: 'updateStrategy.serverSideApply.prune is unknown',
    },
    {
      name: 'a field of ignored ones',
      change: { updateStrategy: { serverSideApply: { ignoreFields: [{ condition: 'OnSpokePresent', jsonPointers: ['/a'] }] } } },
      says: 'updateStrategy.serverSideApply.ignoreFields[].jsonPointers is unknown',
    },
    { name: 'a field of the entry', change: { retries: 3 }, says: 'manifestConfigs[0].retries is unknown' },
    { name: 'a scrape type', change: { feedbackScrapeType: 'Push' }, says: 'feedbackScrapeType "Push" is unknown: use Poll or Watch' },
    {
      name: 'rules of conditions',
      change: { conditionRules: [{ condition: 'Complete', type: 'WellKnownConditions' }] },
      says: 'conditionRules are not supported',
    },
    { name: '* as the resource', change: {}, at: { resource: '*' }, says: 'resourceIdentifier.resource "*"' },
    { name: '* in the group', change: {}, at: { group: '*' }, says: 'resourceIdentifier.group "*"' },
    { name: 'a field of the identifier', change: {}, at: { kind: 'ConfigMap' }, says: 'resourceIdentifier.kind is unknown' },
  ])('$name', ({ change, at, says }) => expect(refusalOfConfigs([config(change, identifier({ name: '*', ...at }))], meta)).toContain(says));

  test.each([
    { name: 'what is understood', configs: [config({ updateStrategy: { type: 'ServerSideApply', serverSideApply: { force: true } } })] },
    { name: 'empty rules of conditions', configs: [config({ conditionRules: [], feedbackScrapeType: 'Watch' })] },
    { name: 'what is about another object', configs: [config({ retries: 3 }, identifier({ name: 'other-*' }))] },
  ])('never $name', ({ configs }) => expect(refusalOfConfigs(configs, meta)).toBeUndefined());
});
