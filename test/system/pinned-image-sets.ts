import { MachineConfigNode, MachineConfigPool, PINNED_SETS_DEGRADED, PinnedImageSet, POOL_ROLE } from '@flotilla/api/machine';
import { applyCrds } from '@flotilla/control-plane/servers';
import { eventually } from '@flotilla/pace/testing';
import { type Client, isNotFound } from '@flotilla/runtime';

/** PinnedImageSets as OpenShift has them: kinds with its validations, and a stand-in of the operator that carries sets out or fails at them. */

const GROUP = 'machineconfiguration.openshift.io';
const any = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const imageName = {
  type: 'string',
  minLength: 1,
  maxLength: 447,
  'x-kubernetes-validations': [
    {
      rule: "self.split('@').size() == 2 && self.split('@')[1].matches('^sha256:[a-f0-9]{64}$')",
      message: 'the image is named by its digest alone',
    },
    {
      rule: "self.split('@')[0].matches('^([a-zA-Z0-9-]+[.])+[a-zA-Z0-9-]+(:[0-9]{2,5})?/([a-zA-Z0-9-_]{0,61}/)?[a-zA-Z0-9-_.]*?$')",
      message: 'the image is host[:port][/folder]/name',
    },
  ],
};
const pinnedImages = {
  type: 'array',
  minItems: 1,
  maxItems: 500,
  items: { type: 'object', required: ['name'], properties: { name: imageName } },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
};
const crd = (plural: string, kind: string, spec: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Cluster',
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', required: ['spec'], properties: { spec, status: any } } },
      },
    ],
  },
});

/** Kinds of the machine config operator. */
export const machineConfigCrds = [
  crd('pinnedimagesets', 'PinnedImageSet', { type: 'object', required: ['pinnedImages'], properties: { pinnedImages } }),
  crd('machineconfigpools', 'MachineConfigPool', any),
  crd('machineconfignodes', 'MachineConfigNode', any),
];

/** Rights of the puller, as the chart's value rbac.pinnedImageSets gives them. */
export const setRights = [
  { apiGroups: [GROUP], resources: ['pinnedimagesets'], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
  { apiGroups: [GROUP], resources: ['machineconfigpools', 'machineconfignodes'], verbs: ['list'] },
];

/** The stand-in. */
interface MachineConfigOperator extends AsyncDisposable {
  /** Error of a node at sets, in place of pinning. */
  readonly fails: Map<string, string>;
  /** Nodes that say nothing. */
  isHeld: boolean;
}

/** Makes pools with their nodes, and carries sets out. @param pools nodes by the name of their pool */
export async function startMachineConfigOperator(
  admin: Client,
  pools: Readonly<Record<string, readonly string[]>>,
): Promise<MachineConfigOperator> {
  const apiVersion = `${GROUP}/v1`;
  await applyCrds(admin, machineConfigCrds);
  for (const [pool, nodes] of Object.entries(pools)) {
    const machineConfigSelector = { matchLabels: { [POOL_ROLE]: pool } };
    await admin.create(MachineConfigPool, {
      apiVersion,
      kind: 'MachineConfigPool',
      metadata: { name: pool },
      spec: { machineConfigSelector },
    });
    await status(admin, MachineConfigPool, pool, { machineCount: nodes.length });
    for (const name of nodes)
      await admin.create(MachineConfigNode, { apiVersion, kind: 'MachineConfigNode', metadata: { name }, spec: { pool: { name: pool } } });
  }
  const stop = new AbortController();
  const state = { fails: new Map<string, string>(), isHeld: false };
  const loop = (async () => {
    while (!stop.signal.aborted) {
      if (!state.isHeld) await carryOut(admin, pools, state.fails).catch(ignoreGone);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return Object.assign(state, {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await loop;
      const path = ({ metadata }: { metadata: { name: string } }) =>
        `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`;
      for (const each of machineConfigCrds) await admin.request('DELETE', path(each)).catch(ignoreGone);
      const isLeft = async () =>
        (await Promise.all(machineConfigCrds.map((each) => admin.getText(path(each)).catch(ignoreGone)))).some(Boolean);
      await eventually(async () => !(await isLeft()), 'the kinds to go', 30_000);
    },
  });
}

async function carryOut(
  admin: Client,
  pools: Readonly<Record<string, readonly string[]>>,
  fails: ReadonlyMap<string, string>,
): Promise<void> {
  const { items } = await admin.list(PinnedImageSet);
  for (const [pool, nodes] of Object.entries(pools)) {
    const sets = items.filter(({ metadata }) => metadata.labels?.[POOL_ROLE] === pool);
    for (const node of nodes) {
      const error = sets.length > 0 ? fails.get(node) : undefined;
      const pinnedImageSets = sets.map(({ metadata: { name, generation } }) => ({
        name,
        desiredGeneration: generation,
        ...(error === undefined
          ? { currentGeneration: generation }
          : { lastFailedGeneration: generation, lastFailedGenerationError: error }),
      }));
      const degraded = { type: PINNED_SETS_DEGRADED, status: error === undefined ? 'False' : 'True', message: error ?? 'All is good' };
      await status(admin, MachineConfigNode, node, { pinnedImageSets, conditions: [degraded] });
    }
  }
}

const status = (admin: Client, kind: typeof MachineConfigNode | typeof MachineConfigPool, name: string, value: object) =>
  admin.patch(kind as typeof MachineConfigNode, { name }, { status: value }, { type: 'merge', subresource: 'status' });

function ignoreGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
