/** Each command with the least rights that suffice, and with one right less: that one is named, with the role that has it. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type KubeObject, untyped } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { RolloutWorld } from '../rollout/world.ts';
import { testIn } from '../world.ts';
import { typeLines } from './typed-lines.ts';

/** A verb, and a resource with its group. */
type Right = `${string} ${string}`;

const CGUS = 'clustergroupupgrades.ran.openshift.io';
const CLUSTERS = 'managedclusters.cluster.open-cluster-management.io';
const POLICIES = 'policies.policy.open-cluster-management.io';

/** Rights without which a command ends with 1, and those without which it says what it could not see. */
interface Case {
  readonly args: readonly string[];
  readonly needs: readonly Right[];
  readonly wants?: readonly Right[];
  /** Its image cannot be read, so that the answer is partial. */
  readonly readsNoImage?: true;
}

const WORKS = 'manifestworks.work.open-cluster-management.io';
const ACTIONS = 'managedclusteractions.action.open-cluster-management.io';
const VIEWS = 'managedclusterviews.view.open-cluster-management.io';
/** Objects by which it is known where policies are placed. */
const PLACES: readonly Right[] = [
  'list placementbindings.policy.open-cluster-management.io',
  'list placements.cluster.open-cluster-management.io',
  'list placementdecisions.cluster.open-cluster-management.io',
];
/** Words in which a test's own paths stand. */
const FILE = 'FILE';
const CONF = 'CONF';

const LEASES: readonly Right[] = ['get leases.coordination.k8s.io', 'list leases.coordination.k8s.io'];
const cases: readonly Case[] = [
  { args: ['status', 'asked'], needs: [`get ${CGUS}`], wants: [`list ${CLUSTERS}`, ...LEASES] },
  { args: ['status'], needs: [`list ${CGUS}`], wants: [`list ${CLUSTERS}`, ...LEASES] },
  { args: ['why', 'asked', 'rights-1'], needs: [`get ${CGUS}`], wants: [`get ${CLUSTERS}`, ...LEASES] },
  { args: ['limits'], needs: ['get configmaps'] },
  { args: ['wait', 'asked', '--timeout', '0'], needs: [`get ${CGUS}`] },
  { args: ['wait', 'asked', '--timeout', '1s'], needs: [`get ${CGUS}`, `list ${CGUS}`, `watch ${CGUS}`] },
  { args: ['window', 'show', 'asked'], needs: [`get ${CGUS}`] },
  {
    args: ['plan', 'asked', '--no-images'],
    needs: [`get ${CGUS}`, `list ${CLUSTERS}`, `list ${POLICIES}`, 'get configmaps'],
    wants: PLACES,
  },
  {
    args: ['plan', '-f', FILE, '--registries-conf', CONF, '--inspect', '--dry-run', '--puller-image', 'registry.example/puller:1'],
    needs: [`list ${CLUSTERS}`, `list ${POLICIES}`, 'get configmaps', `list ${WORKS}`, `create ${ACTIONS}`],
    wants: [`list ${VIEWS}`, `list ${CGUS}`, ...PLACES],
    readsNoImage: true,
  },
  { args: ['pause', 'asked', '--dry-run'], needs: [`get ${CGUS}`, `patch ${CGUS}`], wants: LEASES },
  { args: ['pause', 'asked', '--now', '--dry-run'], needs: [`get ${CGUS}`, `patch ${CGUS}`], wants: LEASES },
  {
    args: ['window', 'set', 'asked', '--start', '2099-01-01T00:00:00Z', '--dry-run'],
    needs: [`get ${CGUS}`, `patch ${CGUS}`],
    wants: LEASES,
  },
  { args: ['hold', 'rights-1', '--dry-run'], needs: [`get ${CLUSTERS}`, `patch ${CLUSTERS}`] },
  { args: ['retry', 'over', 'rights-2', '--dry-run'], needs: [`get ${CGUS}`, `list ${CGUS}`, `create ${CGUS}`], wants: LEASES },
];

/** One run: a command by somebody with these rights, of whom one is missing or none. */
interface Run {
  readonly user: string;
  readonly of: Case;
  readonly rights: readonly Right[];
  readonly without?: Right;
}
const runs: readonly Run[] = cases
  .flatMap((of): Omit<Run, 'user'>[] => {
    const all = [...of.needs, ...(of.wants ?? [])];
    return [{ of, rights: all }, ...all.map((without) => ({ of, without, rights: all.filter((right) => right !== without) }))];
  })
  .map((run, index) => ({ ...run, user: `asker-${index}` }));

const spokes = ['rights-1', 'rights-2'];
const test = testIn(() => RolloutWorld.start({ spokes, apiServer: { users: runs.map(({ user }) => ({ name: user, groups: [] })) } }));

const ClusterRole = untyped('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', false);
const ClusterRoleBinding = untyped('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings', false);

async function grant({ client }: RolloutWorld, { user, rights }: Run): Promise<void> {
  const rules = rights.map((right) => {
    const [verb = '', resource = ''] = right.split(' ');
    const [name = '', ...group] = resource.split('.');
    return { apiGroups: [group.join('.')], resources: [name], verbs: [verb] };
  });
  const metadata = { name: user };
  await client.create(ClusterRole, { metadata, rules } as KubeObject);
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user };
  await client.create(ClusterRoleBinding, {
    metadata,
    roleRef,
    subjects: [{ apiGroup: roleRef.apiGroup, kind: 'User', name: user }],
  } as KubeObject);
}

/** Waits until the server has seen the last role. */
async function untilGranted(world: RolloutWorld): Promise<void> {
  const last = runs.at(-1)?.user ?? '';
  const client = await world.server.client(last);
  const may = () =>
    client.get(ClusterGroupUpgrade, { namespace: 'default', name: 'asked' }).then(
      () => true,
      () => false,
    );
  await eventually(may, 'the roles to be seen');
}

/** An upgrade whose only image is on a registry that may not be asked: an inspection of nothing. */
async function writeFiles({ dir }: RolloutWorld): Promise<Record<string, string>> {
  const [file, conf] = [join(dir, 'looked.json'), join(dir, 'registries.conf')];
  await writeFile(conf, '[[registry]]\nprefix = "blocked.example"\nlocation = "blocked.example"\nblocked = true\n');
  const metadata = { name: 'looked', namespace: 'default' };
  const group = 'ran.openshift.io/v1alpha1';
  const config = { apiVersion: group, kind: 'PreCachingConfig', metadata, spec: { additionalImages: ['blocked.example/x:1'] } };
  const spec = {
    clusters: ['rights-1'],
    managedPolicies: ['rights-p'],
    enable: false,
    preCaching: true,
    preCachingConfigRef: { name: 'looked' },
    remediationStrategy: { maxConcurrency: 1, timeout: 60 },
  };
  const upgrade = { apiVersion: group, kind: 'ClusterGroupUpgrade', metadata, spec };
  await writeFile(file, `${JSON.stringify(config)}\n---\n${JSON.stringify(upgrade)}\n`);
  return { [FILE]: file, [CONF]: conf };
}

test('with the least rights it works; with one less it names that one and who has it', async ({ world }) => {
  await world.policies(spokes, { 'rights-p': {} });
  for (const spoke of spokes) world.propagator.script('policies/rights-p', spoke, { never: true });
  await world.upgrade('asked', ['rights-1'], ['rights-p'], { enable: false });
  await world.untilCondition('asked', 'Progressing', /NotEnabled/);
  await world.upgrade('over', ['rights-2'], ['rights-p'], { remediationStrategy: { maxConcurrency: 1, timeout: 0 } });
  await world.untilEnded('over');
  const files = await writeFiles(world);
  for (const run of runs) await grant(world, run);
  await untilGranted(world);

  const lines = await Promise.all(
    runs.map(async ({ user, of }) =>
      [`KUBECONFIG=${await world.server.kubeconfigFor(user)}`, ...of.args.map((word) => files[word] ?? word)].join(' '),
    ),
  );
  const all = await typeLines({ kubeconfig: world.server.kubeconfig, folder: world.dir }, lines);
  const said = [...all.matchAll(/^\$ [^\n]* flotilla [^\n]*\n(.*?)\[exit (\d+)\]\n/gms)].map(([, text = '', code]) => ({
    text,
    code: Number(code),
  }));
  expect(said).toHaveLength(runs.length);

  const bad: string[] = [];
  for (const [index, { of, without }] of runs.entries()) {
    const { text = '', code } = said[index] ?? {};
    const [verb = '', resource = ''] = (without ?? '').split(' ');
    const named = `you may not ${verb} ${resource}`;
    const isNeeded = without !== undefined && of.needs.includes(without);
    const isTold = text.includes(named) && /ClusterRole flotilla-(?:view|inspect|steer|operate|probe) of charts\/hub/.test(text);
    const isAnswered = of.readsNoImage ? code === 1 && text.includes('0 of 1 images could be read') : code !== 1;
    const isRight = without === undefined ? isAnswered && !text.includes('you may not') : isNeeded ? code === 1 && isTold : isAnswered;
    if (!isRight) bad.push(`flotilla ${of.args.join(' ')} without ${without ?? 'nothing'}: ${code}: ${text.slice(0, 700)}`);
  }
  expect(bad).toEqual([]);
}, 600_000);

test('the roles of the chart have all of them', async () => {
  const text = await readFile(join(import.meta.dirname, '../../../charts/hub/templates/user-roles.yaml'), 'utf8');
  const rules = [...text.matchAll(/resources: \[([^\]]+)\]\n(?:\s+resourceNames: \[[^\]]+\]\n)?\s+verbs: \[([^\]]+)\]/g)].flatMap(
    ([, resources = '', verbs = '']) => resources.split(', ').flatMap((resource) => verbs.split(', ').map((verb) => `${verb} ${resource}`)),
  );
  const wanted = new Set(cases.flatMap(({ needs, wants = [] }) => [...needs, ...wants]).map((right) => right.split('.')[0]));
  expect([...wanted].filter((right) => !rules.includes(right ?? ''))).toEqual([]);
});
