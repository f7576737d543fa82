import { configCrds } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { payloadManifest, payloadObject } from '../../testing/payload-fixture.ts';
import { capabilitySets, enabledCapabilities, implicitCapabilities, knownCapabilities, releaseCapabilities } from './capabilities.ts';
import { exclusionOf } from './inclusion.ts';

const none = new Set<string>();
const sizes = {
  None: 0,
  'v4.11': 4,
  'v4.12': 8,
  'v4.13': 9,
  'v4.14': 12,
  'v4.15': 14,
  'v4.16': 16,
  'v4.17': 16,
  'v4.18': 17,
  vCurrent: 19,
};

test('each baseline has its capabilities', () => {
  expect(Object.fromEntries([...capabilitySets].map(([name, set]) => [name, new Set(set).size]))).toEqual(sizes);
});

test.each<{ name: string; gates: string[]; want: string[] }>([
  { name: 'no gate', gates: [], want: [] },
  { name: 'the gate of one', gates: ['CRDCompatibilityRequirementOperator'], want: ['CompatibilityRequirements'] },
  { name: 'the gate of both', gates: ['ClusterAPIMachineManagement'], want: ['ClusterAPI', 'CompatibilityRequirements'] },
])('$name: gated capabilities are there with a gate alone', ({ gates, want }) => {
  const gated = ['ClusterAPI', 'CompatibilityRequirements'];
  expect(knownCapabilities(new Set(gates)).filter((name) => gated.includes(name))).toEqual(want);
  const { known, enabled } = enabledCapabilities({ featureGates: new Set(gates), additional: gated });
  expect([gated.filter((name) => known.has(name)), gated.filter((name) => enabled.has(name))]).toEqual([want, want]);
});

describe('enabled', () => {
  test.each<{ name: string; wanted: Parameters<typeof enabledCapabilities>[0]; want: string[]; implicit: string[] }>([
    {
      name: 'those of the baseline and additional ones',
      wanted: { baseline: 'None', additional: ['Console'], featureGates: none },
      want: ['Console'],
      implicit: [],
    },
    {
      name: 'those of before, implicitly',
      wanted: { baseline: 'None', previous: ['Build'], featureGates: none },
      want: ['Build'],
      implicit: ['Build'],
    },
    {
      name: 'those that always are, implicitly',
      wanted: { baseline: 'None', always: ['Ingress'], featureGates: none },
      want: ['Ingress'],
      implicit: ['Ingress'],
    },
    {
      name: 'none implicitly that is asked for',
      wanted: { baseline: 'None', additional: ['Ingress'], always: ['Ingress'], featureGates: none },
      want: ['Ingress'],
      implicit: [],
    },
  ])('$name', ({ wanted, want, implicit }) => {
    const found = enabledCapabilities(wanted);
    expect([[...found.enabled], found.implicit]).toEqual([want, implicit]);
  });

  test.each<{ name: string; wanted: Partial<Parameters<typeof enabledCapabilities>[0]>; want: string[] }>([
    { name: 'all that an older release lists', wanted: {}, want: ['Console', 'baremetal'] },
    { name: 'what a newer release lists and nobody here knows', wanted: { listed: ['Sails'] }, want: ['Sails'] },
    { name: 'of a baseline those that the release lists', wanted: { baseline: 'v4.11' }, want: ['baremetal'] },
    { name: 'what was enabled before', wanted: { baseline: 'None', previous: ['Ingress'] }, want: ['Ingress'] },
    {
      name: 'of those that always are, what the release lists',
      wanted: { baseline: 'None', always: ['Ingress', 'Console'] },
      want: ['Console'],
    },
  ])('by the list of the release: $name', ({ wanted, want }) => {
    expect([...enabledCapabilities({ listed: ['Console', 'baremetal'], featureGates: none, ...wanted }).enabled]).toEqual(want);
  });

  test('by default all', () => expect(enabledCapabilities({ baseline: '', featureGates: none }).enabled.size).toBe(17));
});

describe('an update enables implicitly', () => {
  const object = (name: string, capability?: string) =>
    payloadManifest(
      `release-manifests/${name}.yaml`,
      payloadObject('ConfigMap', name, { annotations: capability ? { 'capability.openshift.io/name': capability } : {} }),
    );
  const capabilities = { known: new Set(['A', 'B']), enabled: new Set(['A']) };
  test.each<{ name: string; current: [string, string?][]; update: [string, string?][]; want: string[] }>([
    { name: 'what an object of the cluster moves under', current: [['x']], update: [['x', 'B']], want: ['B'] },
    { name: 'also what only the update knows', current: [['x', 'A']], update: [['x', 'A+New+B']], want: ['B', 'New'] },
    {
      name: 'nothing for an object that the cluster does not have',
      current: [['x', 'B']],
      update: [
        ['x', 'B'],
        ['y', 'B'],
      ],
      want: [],
    },
    { name: 'nothing for what stays included', current: [['x']], update: [['x', 'A']], want: [] },
  ])('$name', ({ current, update, want }) => {
    const isIncluded = (...[manifest, capabilities]: Parameters<Parameters<typeof implicitCapabilities>[0]['isIncluded']>) =>
      exclusionOf(manifest, { capabilities }) === undefined;
    expect(
      implicitCapabilities({
        current: current.map((of) => object(...of)),
        update: update.map((of) => object(...of)),
        capabilities,
        isIncluded,
      }),
    ).toEqual(want);
  });
});

test('a release lists its capabilities in its definition of ClusterVersion', () => {
  const [definition = {}] = configCrds();
  const manifests = [payloadObject('ConfigMap', 'x', {}), definition].map((object, index) =>
    payloadManifest(`release-manifests/${index}.json`, object),
  );
  expect(releaseCapabilities(manifests)).toEqual(expect.arrayContaining(['Console', 'OperatorLifecycleManagerV1', 'ClusterAPI']));
  expect(releaseCapabilities(manifests.slice(0, 1))).toBeUndefined();
});

test('a ClusterVersion may name every capability there is', () => {
  const stored = JSON.stringify(configCrds());
  expect((capabilitySets.get('vCurrent') ?? []).filter((name) => !stored.includes(`"${name}"`))).toEqual([]);
});

test('a baseline that nobody here knows turns nothing on: what is enabled stays enabled', () => {
  const { enabled } = enabledCapabilities({ baseline: 'v4.99', previous: ['Console'], listed: ['Build', 'Console'], featureGates: none });
  expect([...enabled]).toEqual(['Console']);
});
