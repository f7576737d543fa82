import { mapConcurrently } from '@flotilla/pace';
import { type Manifest, planApply, releaseFeatureGates, type TaskNode } from '@flotilla/release';
import { checkOptions } from '@flotilla/runtime';
import { z } from 'zod';
import { connect } from '../hub/connect.ts';
import { wantsJson } from '../hub/options.ts';
import { partByCapabilities, readPayload } from '../payload/load.ts';
import { DiffOptions } from '../payload/options.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { safeText, writeErr, writeOut } from '../terminal/output.ts';
import { type ClusterView, ServedKinds, viewCluster } from './cluster-view.ts';
import { kindKeyOf, type ObjectPlan, type PlanTools, planObject, scaledObjects } from './object-plan.ts';
import { diffAsJson, diffAsText } from './print.ts';

/** Objects that are asked about at once. */
const AT_ONCE = 8;

/** `flotilla payload diff`: what an update to a release would do to a cluster. */
export const showDiff: Run = async ([given = ''], options) => {
  const settings = checkOptions(DiffOptions, options);
  await using connected = connect(settings);
  const { client } = connected;
  const view = await viewCluster(client);
  const { version, nodes, included } = await planUpdate(given, settings, view);
  const tools = {
    client,
    kinds: new ServedKinds(client),
    context: view.context,
    brought: broughtBy(included),
    scaled: scaledObjects(client),
  };
  const plans = await planAll(nodes, tools);
  const diff = { version, from: view.clusterVersion?.status?.desired?.version ?? '', nodes, plans };
  if (wantsJson(settings)) process.stdout.write(`${diffAsJson(diff)}\n`);
  else writeOut(diffAsText(diff, settings.all));
  writeErr(`${safeText(version)}: ${summaryOf([...plans.values()])}\n`);
  if ([...plans.values()].some(({ refused }) => refused !== '')) endWith(Exit.no);
};

/** Plans the manifests that the cluster includes, in the order of an update. */
async function planUpdate(given: string, options: DiffOptions, view: ClusterView) {
  const { profile, exclude: excludeIdentifier } = options;
  const { payload, majorVersion } = await readPayload(given, options);
  const { version } = payload.release;
  const audience = { profile, featureSet: view.featureSet, majorVersion };
  const featureGates = view.gatesOf(version) ?? releaseFeatureGates(payload.manifests, audience) ?? new Set<string>();
  const { spec, status } = view.clusterVersion ?? {};
  const { included } = partByCapabilities(
    payload.manifests,
    { ...audience, featureGates, excludeIdentifier, overrides: spec?.overrides ?? [] },
    {
      baseline: spec?.capabilities?.baselineCapabilitySet,
      additional: spec?.capabilities?.additionalEnabledCapabilities ?? [],
      previous: status?.capabilities?.enabledCapabilities ?? [],
    },
  );
  return { version, included, nodes: planApply(included, 'Updating').nodes };
}

function broughtBy(manifests: readonly Manifest[]): PlanTools['brought'] {
  const kinds = manifests.flatMap(({ kind, object }) => (kind === 'CustomResourceDefinition' ? kindsOf(object) : []));
  const namespaces = manifests.filter(({ group, kind }) => group === '' && kind === 'Namespace').map(({ name }) => name);
  return { namespaces: new Set(namespaces), kinds: new Set(kinds) };
}

const Definition = z.looseObject({
  group: z.string(),
  names: z.looseObject({ kind: z.string() }),
  versions: z.array(z.looseObject({ name: z.string(), served: z.boolean() })),
});

/** Kinds that a CustomResourceDefinition brings. */
function kindsOf({ spec }: Readonly<Record<string, unknown>>): string[] {
  const parsed = Definition.safeParse(spec);
  if (!parsed.success) return [];
  const { group, names, versions } = parsed.data;
  return versions.filter(({ served }) => served).map(({ name: version }) => kindKeyOf({ group, version, kind: names.kind }));
}

/** Plans by manifest. */
async function planAll(nodes: readonly TaskNode[], tools: PlanTools): Promise<ReadonlyMap<Manifest, ObjectPlan>> {
  const manifests = nodes.flatMap(({ tasks }) => tasks.map(({ manifest }) => manifest));
  const plans = await mapConcurrently(manifests, AT_ONCE, (manifest) => planObject(manifest, tools));
  return new Map(plans.map((plan) => [plan.manifest, plan]));
}

function summaryOf(plans: readonly ObjectPlan[]): string {
  const count = (matches: (plan: ObjectPlan) => boolean): number => plans.filter(matches).length;
  const by = (action: ObjectPlan['action']): number => count((plan) => plan.action === action);
  return `${by('create')} to create, ${by('change')} to change, ${by('delete')} to delete, ${by('leave')} as they are, ${count(({ refused }) => refused !== '')} refused`;
}
