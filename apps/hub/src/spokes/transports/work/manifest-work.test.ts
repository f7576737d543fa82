import { Annotation, Label } from '@flotilla/api';
import { ManifestWork } from '@flotilla/api/ocm';
import { DEFAULT_NODE_RULES, type NodeRules } from '@flotilla/api/ran';
import { spokeNode } from '@flotilla/rollout';
import { describe, expect, test } from 'vitest';
import { UPGRADE } from '../../../../testing/observation-builders.ts';
import type { JobProfile } from '../../jobs/kinds/precache/inputs.ts';
import { precacheNames } from '../../jobs/kinds/precache/job.ts';
import { precacheManifests } from '../../jobs/kinds/precache/manifests.ts';
import { buildJobWork, frozenConfigs } from './manifest-work.ts';

const manifestsOf = (profile: JobProfile, nodes?: NodeRules) =>
  precacheManifests({
    nodes,
    upgradeUid: UPGRADE.uid,
    spec: { platformImage: 'registry.example/release@sha256:1', spaceRequired: '35' },
    image: 'registry.example/puller:1',
    deadlineSeconds: 600,
    profile,
    node: spokeNode(undefined),
    variables: {},
    caBundle: '',
  });
const place = { job: { work: 'precache', names: precacheNames }, upgrade: UPGRADE, cluster: 'spoke', digest: 'd1' };
const build = (profile: JobProfile = 'least-privilege', losses = 0) =>
  ManifestWork.schema.parse(buildJobWork(place, { manifests: manifestsOf(profile), attempt: { id: 'a1', losses } }));
const manifestsIn = ({ spec }: ManifestWork) =>
  spec?.workload?.manifests?.map((each) => each as { kind: string; metadata: Metadata }) ?? [];
interface Metadata {
  readonly name: string;
  readonly annotations?: Record<string, string>;
}

describe('the work of a pre-cache', () => {
  test('is found by the labels of all hub objects, and says what it was made for', () => {
    const { metadata } = build();
    expect(metadata).toMatchObject({ name: 'precache-work', namespace: 'spoke' });
    expect(metadata.labels).toMatchObject({ [Label.work]: 'precache', [Label.upgradeUid]: UPGRADE.uid });
    expect(metadata.annotations).toEqual({ [Annotation.attempt]: 'a1', [Annotation.specDigest]: 'd1' });
  });

  test.each([
    {
      profile: 'least-privilege',
      kinds: ['Namespace', 'ServiceAccount', 'ConfigMap', 'Job', 'Role', 'RoleBinding'],
    },
    { profile: 'talm', kinds: ['Namespace', 'ServiceAccount', 'ClusterRoleBinding', 'ConfigMap', 'Job'] },
  ] as const)('profile $profile: what the job needs, the job, what it does without', ({ profile, kinds }) =>
    expect(manifestsIn(build(profile)).map(({ kind }) => kind)).toEqual(kinds),
  );

  test('namespace and Job carry whose they are, and never take it over from another one', () => {
    const work = build('least-privilege', 2);
    const marks = Object.fromEntries(manifestsIn(work).map(({ kind, metadata }) => [kind, metadata.annotations]));
    const made = { [Annotation.upgradeUid]: UPGRADE.uid, [Annotation.specDigest]: 'd1' };
    expect(marks.Namespace).toMatchObject({ ...made, [Annotation.attempt]: 'a1' });
    expect(marks.Job).toMatchObject({ ...made, [Annotation.attempt]: 'a1.2' });
    const strategies = Object.fromEntries(
      work.spec?.manifestConfigs?.map(({ resourceIdentifier, updateStrategy }) => [resourceIdentifier.name, updateStrategy?.type]) ?? [],
    );
    expect(strategies).toEqual({ 'openshift-talo-pre-cache': 'CreateOnly', 'pre-cache': 'CreateOnly' });
  });

  test('a DaemonSet is created and not applied, because agents of ours make its account where they create it', () => {
    const manifests = manifestsOf('least-privilege', DEFAULT_NODE_RULES);
    const work = ManifestWork.schema.parse(buildJobWork(place, { manifests, attempt: { id: 'a1', losses: 0 } }));
    const config = work.spec?.manifestConfigs?.find(({ resourceIdentifier }) => resourceIdentifier.resource === 'daemonsets');
    expect(config).toMatchObject({
      resourceIdentifier: { group: 'apps', name: 'pre-cache-nodes', namespace: 'openshift-talo-pre-cache' },
      updateStrategy: { type: 'CreateOnly' },
    });
  });

  test('the verdict and whose it is are read back together', () => {
    const config = build().spec?.manifestConfigs?.find(({ resourceIdentifier }) => resourceIdentifier.resource === 'jobs');
    expect(config).toMatchObject({
      resourceIdentifier: { group: 'batch', name: 'pre-cache', namespace: 'openshift-talo-pre-cache' },
      feedbackScrapeType: 'Watch',
    });
    expect(Object.fromEntries(config?.feedbackRules?.[0]?.jsonPaths?.map(({ name, path }) => [name, path]) ?? [])).toEqual({
      attempt: '.metadata.annotations.flotilla\\.io/attempt',
      active: '.status.active',
      ready: '.status.ready',
      verdict: '.status.conditions[0].type',
      reason: '.status.conditions[0].reason',
      message: '.status.conditions[0].message',
      progress: '.metadata.annotations.flotilla\\.io/progress',
    });
  });

  test('frozen, every object is left as it is', () => {
    const configs = frozenConfigs(manifestsOf('least-privilege'));
    expect(configs.map(({ resourceIdentifier }) => resourceIdentifier.name)).toEqual(
      expect.arrayContaining(manifestsIn(build()).map(({ metadata }) => metadata.name)),
    );
    expect(configs).toHaveLength(manifestsIn(build()).length);
    for (const { updateStrategy, feedbackRules } of configs)
      expect({ updateStrategy, feedbackRules }).toEqual({ updateStrategy: { type: 'ReadOnly' } });
  });
});
