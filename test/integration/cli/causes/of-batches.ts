import { ClusterVersion } from '@flotilla/api/config';
import { Policy } from '@flotilla/api/ocm';
import { placePolicy } from '../../../fixtures/placed-policies.ts';
import { createTemplate } from '../../../fixtures/work-templates.ts';
import { type Cause, comply, hold, inBatch, mend, type Scene } from './cause.ts';

/** A template on both spokes, of which the first has this to say. */
async function byTemplate(scene: Scene, faults: Parameters<Scene['world']['spokes']['setFaults']>[1]): Promise<void> {
  const { world, name, spokes } = scene;
  world.spokes.setFaults(spokes[0], faults);
  await createTemplate(world.client, name);
  await world.upgrade(name, spokes, [], { manifestWorkTemplates: [name], remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await world.untilInProgress(name, spokes[0]);
}

/** A template with the managed upgrade of a spoke, which reports what it waits for. */
async function byManagedUpgrade({ world, name, spokes }: Scene): Promise<void> {
  world.spokes.setFaults(spokes[0], { workSeconds: 0 });
  const version = {
    apiVersion: ClusterVersion.apiVersion,
    kind: ClusterVersion.kind,
    metadata: { name: 'version' },
    spec: { clusterID: name },
  };
  await createTemplate(world.client, name, {
    expected: JSON.stringify([{ manifestIndex: 0, name: 'state', value: 'Completed' }]),
    spec: {
      workload: { manifests: [version] },
      manifestConfigs: [
        {
          resourceIdentifier: { group: 'config.openshift.io', resource: 'clusterversions', name: 'version', namespace: '' },
          feedbackRules: [
            {
              type: 'JSONPaths',
              jsonPaths: [
                { name: 'state', path: '.status.history[0].state' },
                { name: 'progressing', path: '.status.conditions[?(@.type=="Progressing")].message' },
              ],
            },
          ],
        },
      ],
    },
  });
  await world.upgrade(name, spokes, [], { manifestWorkTemplates: [name] });
  await world.untilInProgress(name, spokes[0]);
}

/** What a controller on the first spoke says of an object. */
function report(
  { world, spokes }: Scene,
  wanted: string,
  ref: { readonly namespace?: string; readonly name: string },
  status: object,
): void {
  const store = world.spokes.store(spokes[0]);
  const kind = store.kinds.find((served) => served.kind === wanted);
  const object = kind && store.read(kind, ref.namespace, ref.name);
  if (!kind || !object) throw new TypeError(`the spoke has no ${wanted} ${ref.name}`);
  store.setStatus(kind, object.metadata, { ...status });
}

const finishUpgrade = (scene: Scene): void =>
  report(scene, ClusterVersion.kind, { name: 'version' }, { history: [{ state: 'Completed' }] });

const becomeReady = (scene: Scene): void =>
  report(
    scene,
    'Deployment',
    { namespace: 'default', name: scene.name },
    { observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 },
  );

const complies: Cause['release'] = { says: /goes on when the policy is compliant/, apply: comply };
const works: Cause['release'] = { says: /goes on when the work reports|as it is applied/, apply: mend };

/** What a batch waits for. */
export const ofBatches: readonly Cause[] = [
  {
    name: 'a policy that is not compliant, with its own message',
    inject: (scene) => inBatch(scene),
    want: { cause: 'policy', says: /NonCompliant; notification - reported by a simulated cluster/ },
    release: complies,
  },
  {
    name: 'the batch before, and in it the slowest cluster',
    about: 'second',
    inject: (scene) => inBatch(scene),
    want: { cause: 'policy', says: /batch 1 waits for \S+-1 \(0 of 1 done\)/ },
    release: complies,
  },
  {
    name: 'the upgrade as a whole',
    about: 'upgrade',
    inject: (scene) => inBatch(scene),
    want: { cause: 'policy', says: /policy \S+ is NonCompliant/ },
    release: complies,
  },
  {
    name: 'a policy of which nothing is known',
    inject: async ({ world, name, spokes }) => {
      world.propagator.script(`policies/${name}`, spokes[0], { silent: true });
      await placePolicy(world.client, name, { clusters: spokes });
      await world.upgrade(name, spokes, [name]);
      await world.untilInProgress(name, spokes[0]);
    },
    want: { cause: 'policy', says: /not reported yet/ },
    release: { says: /when the policy framework on \S+ reports/, apply: comply },
  },
  {
    name: 'a Placement that selects nobody',
    inject: async ({ world, name, spokes }) => {
      await world.policies(spokes, { [name]: { namespace: `${name}-ns`, decided: true } });
      world.propagator.setBound(`${name}-ns`, 'empty');
      await world.upgrade(name, spokes, [name]);
    },
    want: { cause: 'placement', says: /does not select \S+-1: AllManagedClusterSetsEmpty/ },
    release: {
      says: /Make the clusters members of a ManagedClusterSet that has a ManagedClusterSetBinding/,
      apply: ({ world, name }) => world.propagator.setBound(`${name}-ns`, true),
    },
  },
  {
    name: 'a Placement whose namespace is bound to nothing',
    inject: async ({ world, name, spokes }) => {
      await world.policies(spokes, { [name]: { namespace: `${name}-ns`, decided: true } });
      world.propagator.setBound(`${name}-ns`, false);
      await world.upgrade(name, spokes, [name]);
    },
    want: { cause: 'placement', says: /does not select \S+-1: NoManagedClusterSetBindings/ },
    release: {
      says: /Make the clusters members of a ManagedClusterSet that has a ManagedClusterSetBinding/,
      apply: ({ world, name }) => world.propagator.setBound(`${name}-ns`, true),
    },
  },
  {
    name: 'a soak',
    inject: async ({ world, name, spokes }) => {
      await world.policies(spokes, { [name]: { annotations: { 'ran.openshift.io/soak-seconds': '3600' } } });
      await world.upgrade(name, spokes, [name]);
    },
    want: { cause: 'soak', says: /soaks/ },
    release: {
      says: /has been compliant for its soak time/,
      apply: ({ world, name }) =>
        world.client.patch(
          Policy,
          { namespace: 'policies', name },
          { metadata: { annotations: { 'ran.openshift.io/soak-seconds': '1' } } },
          { type: 'merge' },
        ),
    },
  },
  {
    name: 'a work that cannot be applied',
    inject: (scene) => byTemplate(scene, { failWork: 'deployments.apps is forbidden: the agent may not create it' }),
    want: { cause: 'work', says: /may not create it/ },
    release: { says: /Correct the manifest, or the rights of the agent/, apply: mend },
    after: 'another cause',
  },
  {
    name: 'a work whose object is not there',
    inject: (scene) => byTemplate(scene, { workNeverAvailable: true }),
    want: { cause: 'work', says: /Available/ },
    release: works,
    after: 'another cause',
  },
  {
    name: 'a work that does not report what is expected',
    inject: (scene) => byTemplate(scene, { statusNeverChanges: true }),
    want: { cause: 'work', says: /no controller has looked at generation 1|ReadyReplicas/ },
    release: { ...works, apply: becomeReady },
    after: 'another cause',
  },
  {
    name: 'the ClusterVersion of the spoke, and the operator that it names',
    inject: byManagedUpgrade,
    want: { cause: 'work', says: /ClusterOperator etcd is waited for/ },
    release: { ...works, apply: finishUpgrade },
    after: 'another cause',
  },
  {
    name: 'a cluster that has left the fleet',
    inject: async (scene) => {
      await inBatch(scene);
      await scene.world.detach(scene.spokes[0]);
    },
    want: { cause: 'failed', says: /failed: it is no longer a ManagedCluster/ },
    release: { says: /flotilla retry/ },
  },
  {
    name: 'a policy that is not compliant, and a hold of the next cluster',
    doubled: true,
    about: 'second',
    inject: async (scene) => {
      await inBatch(scene);
      await scene.world.annotateCluster(scene.spokes[1], { 'flotilla.io/hold': 'disk' });
    },
    want: { cause: 'policy', says: /waits for batch 2/ },
    release: complies,
    after: 'another cause',
  },
  {
    name: 'a policy that is not compliant, and a pause of what follows',
    doubled: true,
    inject: async (scene) => {
      await inBatch(scene);
      await scene.world.annotate(scene.name, { 'flotilla.io/paused': 'drain' });
    },
    want: { cause: 'policy', says: /NonCompliant/ },
    release: complies,
    after: 'another cause',
  },
  {
    name: 'a pause and a hold in a batch',
    doubled: true,
    inject: async (scene) => {
      const { world, name, spokes } = scene;
      await hold(scene, 'disk');
      await world.policies(spokes, { [name]: {} });
      await world.upgrade(name, spokes, [name]);
      await world.untilCondition(name, 'Progressing', /InProgress/);
      await world.annotate(name, { 'flotilla.io/paused': 'drain' });
    },
    want: { cause: 'paused', says: /[Pp]aused/ },
    release: { says: /flotilla\.io\/paused/, apply: ({ world, name }) => world.annotate(name, { 'flotilla.io/paused': null }) },
    after: 'another cause',
  },
];
