import { Annotation } from '@flotilla/api';
import { ManifestWorkReplicaSet } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { findOtherVersion, isRolloutsVersion, withTemplateVersions } from './template-versions.ts';

interface Parts {
  readonly image?: string;
  readonly expected?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
}
const template = (name: string, { image = 'app:1', expected = '[]', uid = 'first', labels = {} }: Parts = {}) =>
  ManifestWorkReplicaSet.schema.parse({
    metadata: { name, namespace: 'ns', uid, generation: 7, labels, annotations: { [Annotation.expectedValues]: expected } },
    spec: { manifestWorkTemplate: { workload: { manifests: [{ kind: 'Pod', spec: { image } }] } } },
  });
const running = (status: Partial<ClusterGroupUpgradeStatus> = {}) =>
  ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'ns' },
    status: {
      conditions: [{ type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
      manifestWorkTemplates: ['a', 'b'],
      status: {},
      ...status,
    },
  });
const findIn =
  (...templates: readonly ManifestWorkReplicaSet[]) =>
  (name: string) =>
    templates.find(({ metadata }) => metadata.name === name);
const [A, B] = [template('a'), template('b')];
/** A rollout that began with both. */
const begun = () => {
  const upgrade = running();
  const status = withTemplateVersions(upgrade, upgrade.status ?? { status: {} }, findIn(A, B));
  return { ...upgrade, status };
};

describe('the versions of a rollout', () => {
  test('are stored once, in the order of its templates', () => {
    const { status } = begun();
    expect(status.manifestWorkVersions).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/), expect.stringMatching(/^[0-9a-f]{16}$/)]);
    expect(withTemplateVersions(running(status), status, findIn(template('a', { image: 'app:2' }), B))).toBe(status);
  });

  test.each([
    { name: 'while a template is missing', upgrade: running(), find: findIn(A) },
    { name: 'by policies', upgrade: running({ manifestWorkTemplates: [] }), find: findIn() },
  ])('are not stored $name', ({ upgrade, find }) => {
    const status = upgrade.status ?? { status: {} };
    expect(withTemplateVersions(upgrade, status, find)).toBe(status);
  });
});

test.each([
  { name: 'as it was', now: A, isSame: true },
  { name: 'with another image', now: template('a', { image: 'app:2' }), isSame: false },
  { name: 'with other expected values', now: template('a', { expected: '[{"name":"x"}]' }), isSame: false },
  { name: 'with another label of its own', now: template('a', { labels: { team: 'x' } }), isSame: true },
  { name: 'made again as it was', now: template('a', { uid: 'second' }), isSame: true },
  { name: 'made again with another image', now: template('a', { uid: 'second', image: 'app:2' }), isSame: false },
])('a template $name: the same is $isSame', ({ now, isSame }) => {
  expect(isRolloutsVersion(begun(), now)).toBe(isSame);
  expect(findOtherVersion(begun(), findIn(now, B)) === undefined).toBe(isSame);
});

test('a rollout that another program began has no version until it is known', () => {
  const edited = template('a', { image: 'app:2' });
  expect([isRolloutsVersion(running(), edited), findOtherVersion(running(), findIn(edited, B))]).toEqual([true, undefined]);
});

test('an edited template is named with the two ways on, one that is gone likewise', () => {
  expect(findOtherVersion(begun(), findIn(template('a', { image: 'app:2' }), B))).toEqual({
    cause: 'work',
    says: 'ManifestWorkReplicaSet ns/a is not what the rollout began with: nobody further gets it',
    fix: 'put it back as it was, or delete the upgrade and create it again to roll the new version out from the canaries on',
    of: { object: 'ManifestWorkReplicaSet ns/a', field: 'metadata.generation', value: '7' },
  });
  expect(findOtherVersion(begun(), findIn(A))).toMatchObject({
    says: 'ManifestWorkReplicaSet ns/b is gone',
    fix: 'create it again as it was, or delete the upgrade',
  });
  expect(findOtherVersion(begun(), findIn(), false)).toMatchObject({
    says: 'the API server serves no ManifestWorkReplicaSet: ManifestWorkReplicaSet ns/a cannot be seen',
    fix: 'have it served again',
  });
});
