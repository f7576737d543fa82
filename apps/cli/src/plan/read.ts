import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Annotation,
  FlotillaError,
  foreign,
  isJsonObject,
  type KubeObject,
  Label,
  limitsOf,
  type Resource,
  refKey,
  refOfKey,
} from '@flotilla/api';
import { ConfigMap } from '@flotilla/api/core';
import { ManagedCluster, ManifestWorkReplicaSet, Placement, PlacementBinding, PlacementDecision, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, ClusterGroupUpgradeSpec, OVERRIDES_CONFIG_MAP, PreCachingConfig } from '@flotilla/api/ran';
import {
  CHILD_POLICIES,
  type ObservedUpgrade,
  objectDefinitions,
  PLACEMENT_APP,
  type PolicyWays,
  placementOf,
  planUpgrade,
  repositoryOf,
  trimChild,
  trimPlacement,
  type UpgradePlan,
} from '@flotilla/rollout';
import { type Client, isForbidden, readOptionFile } from '@flotilla/runtime';
import { parseAllDocuments } from 'yaml';
import { nextStep } from '../complain.ts';
import { callersPath } from '../config.ts';
import { listServed } from '../hub/connect.ts';
import { readUpgrade, type UpgradeRef, whole } from '../hub/upgrades.ts';

/** Objects of a file, which count before those of the server. */
interface GivenObjects {
  readonly upgrade: ClusterGroupUpgrade;
  readonly configs: readonly PreCachingConfig[];
  readonly templates: readonly ManifestWorkReplicaSet[];
}

/** An upgrade of the server alone. */
export async function readGiven(client: Client, ref: UpgradeRef): Promise<GivenObjects> {
  return { upgrade: await readUpgrade(client, ref), configs: [], templates: [] };
}

/**
 * Reads files with one ClusterGroupUpgrade, and what it needs beside it.
 * @throws FlotillaError `FLOTILLA_CONFIG` naming the document and its problem
 */
export async function readGivenFile(file: string, namespace: string): Promise<GivenObjects> {
  const objects = (await readManifests(file)).flatMap(parseDocuments);
  const of = <T extends KubeObject>(kind: Resource<T>) =>
    objects.filter((object) => isKind(object, kind)).map((object) => parseObject(file, kind, object, namespace));
  const [upgrade, ...others] = of(ClusterGroupUpgrade);
  if (!upgrade || others.length > 0)
    throw refuse(file, `it has ${upgrade ? others.length + 1 : 'no'} ClusterGroupUpgrade: give one with exactly one`);
  return { upgrade: { ...upgrade, status: undefined }, configs: of(PreCachingConfig), templates: of(ManifestWorkReplicaSet) };
}

function parseDocuments({ file, text }: { readonly file: string; readonly text: string }): unknown[] {
  return parseAllDocuments(text).map((document, index) => {
    const [problem] = document.errors;
    if (problem) throw refuse(file, `document ${index + 1}: ${problem.message.split('\n')[0]}`);
    return document.toJS() as unknown;
  });
}

const refuse = (file: string, why: string) => new FlotillaError('FLOTILLA_CONFIG', `${file}: ${why}`);

const isKind = (object: unknown, { apiVersion, kind }: Resource): boolean =>
  isJsonObject(object) && object.kind === kind && object.apiVersion === apiVersion;

function parseObject<T extends KubeObject>(file: string, { kind, schema }: Resource<T>, object: unknown, namespace: string): T {
  const parsed = schema.safeParse(object);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw refuse(file, `${kind}: ${issue?.path.join('.') || 'the document'}: ${issue?.message}`);
  }
  const { metadata } = parsed.data;
  return { ...parsed.data, metadata: { ...metadata, namespace: metadata.namespace ?? namespace } };
}

/** A field of an object that cannot be read, and why. */
export type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

/** The spec of an upgrade by its schema and its limits, or the first field that is wrong in it. */
export function parseSpec({
  spec,
}: Pick<ClusterGroupUpgrade, 'spec'>):
  | { readonly spec: ClusterGroupUpgradeSpec; readonly issue?: undefined }
  | { readonly spec?: undefined; readonly issue: Issue } {
  const parsed = foreign(ClusterGroupUpgradeSpec).safeParse(spec ?? {});
  if (!parsed.success) return { issue: parsed.error.issues[0] ?? { path: [], message: 'cannot be read' } };
  const issue = findExcess(spec);
  return issue ? { issue } : { spec: parsed.data };
}

/**
 * The spec of an upgrade.
 * @throws FlotillaError `FLOTILLA_NO_UPGRADE` naming the field
 */
export function specOf(upgrade: ClusterGroupUpgrade): ClusterGroupUpgradeSpec {
  const { spec, issue } = parseSpec(upgrade);
  if (spec) return spec;
  const field = ['spec', ...issue.path].map(String).join('.');
  throw new FlotillaError('FLOTILLA_NO_UPGRADE', `${refKey(upgrade.metadata)}: ${field} ${issue.message}`);
}

const findExcess = limitsOf(ClusterGroupUpgradeSpec);

/** Facts of a plan. */
export interface Observed extends ObservedUpgrade {
  /** Facts that the asker may not see. */
  readonly unseen: readonly string[];
}

/** The fleet and its policies, which the plans of a hub look at together. */
interface Fleet {
  readonly managed: readonly ManagedCluster[] | undefined;
  readonly byName: ReadonlyMap<string, ManagedCluster>;
  /** Policies by the cluster whose copies they are; undefined: the server does not serve them. */
  readonly copies: ReadonlyMap<string, readonly Policy[]> | undefined;
  readonly parents: readonly Policy[] | undefined;
  readonly places: Places | undefined;
  readonly unseen: readonly string[];
}

/** Lists a fleet, with the asker's rights. @param isByPolicies a plan needs the policies too */
export async function readFleet(client: Client, isByPolicies: boolean): Promise<Fleet> {
  const unseen: string[] = [];
  const [managed, children, parents, places] = await Promise.all([
    listServed(client, ManagedCluster),
    isByPolicies ? listServed(client, Policy, { labelSelector: CHILD_POLICIES, transform: trimChild }) : [],
    isByPolicies ? listServed(client, Policy, { labelSelector: `!${CHILD_POLICIES}` }) : [],
    isByPolicies ? readWays(client, unseen) : undefined,
  ]);
  const copies = children && Map.groupBy(children, ({ metadata }) => metadata.namespace ?? '');
  const byName = new Map((managed ?? []).map((cluster) => [cluster.metadata.name, cluster]));
  return { managed, byName, copies, parents, places, unseen };
}

/** True for an upgrade whose plan looks at policies. */
export const isByPolicies = ({ managedPolicies }: ClusterGroupUpgradeSpec): boolean => (managedPolicies?.length ?? 0) > 0;

/** Reads what a plan looks at, with the asker's rights. The whole fleet and its policies are listed once each. */
export const observe = async (client: Client, given: GivenObjects): Promise<Observed> =>
  observeIn(await readFleet(client, isByPolicies(specOf(given.upgrade))), client, given);

/** Reads what one plan looks at besides its fleet. */
export async function observeIn(fleet: Fleet, client: Client, { upgrade, configs, templates }: GivenObjects): Promise<Observed> {
  const { managed, byName, copies, parents, places, unseen } = fleet;
  const { namespace = '', annotations = {} } = upgrade.metadata;
  const spec = specOf(upgrade);
  const ref = spec.preCachingConfigRef;
  const configRef = ref?.name ? { namespace: ref.namespace || namespace, name: ref.name } : undefined;
  const first = annotations[Annotation.retryOf];
  const [config, overrides, retried, served] = await Promise.all([
    configRef && (configs.find(isAt(configRef)) ?? client.get(PreCachingConfig, configRef)),
    client.get(ConfigMap, { namespace, name: OVERRIDES_CONFIG_MAP }),
    first === undefined ? undefined : client.get(ClusterGroupUpgrade, refOfKey(first)),
    spec.manifestWorkTemplates?.length ? listServed(client, ManifestWorkReplicaSet, { namespace }) : [],
  ]);
  return {
    upgrade,
    managed: managed ?? [],
    tenancy: undefined,
    unseen,
    ways: places && { ...places, cluster: (name) => byName.get(name), now: Date.now() },
    policiesNamed: (name) => (parents ?? []).filter(({ metadata }) => metadata.name === name),
    childrenOf: (clusters) => clusters.flatMap((cluster) => copies?.get(cluster) ?? []),
    parent: (ns, name) => parents?.find(isAt({ namespace: ns, name })),
    config,
    overrides,
    template: (name) => [...templates, ...(served ?? [])].find(isAt({ namespace, name })),
    servesPolicies: copies !== undefined && parents !== undefined,
    servesClusters: managed !== undefined,
    upgradeAt: (at) => (retried && isAt(at)(retried) ? whole(retried) : undefined),
  };
}

type Places = Pick<PolicyWays, 'bindings' | 'placement' | 'decisions' | 'unserved'>;

/** Reads what places policies on clusters; undefined where the asker may not see it, which is said. */
async function readWays(client: Client, unseen: string[]): Promise<Places | undefined> {
  const users = { labelSelector: `${Label.app}!=${PLACEMENT_APP}` };
  try {
    const [bindings, placements, decisions] = await Promise.all([
      listServed(client, PlacementBinding, users),
      listServed(client, Placement, { ...users, transform: trimPlacement }),
      listServed(client, PlacementDecision, { labelSelector: Label.placement }),
    ]);
    const byPlacement = Map.groupBy(decisions ?? [], (decision) => refKey(placementOf(decision)));
    const placementAt = new Map((placements ?? []).map((placement) => [refKey(placement.metadata), placement]));
    const listed: readonly (readonly [kind: string, objects: readonly unknown[] | undefined])[] = [
      [PlacementBinding.kind, bindings],
      [Placement.kind, placements],
      [PlacementDecision.kind, decisions],
    ];
    return {
      unserved: listed.find(([, objects]) => objects === undefined)?.[0],
      bindings: (namespace) => (bindings ?? []).filter(({ metadata }) => metadata.namespace === namespace),
      placement: (ref) => placementAt.get(refKey(ref)),
      decisions: (ref) => byPlacement.get(refKey(ref)) ?? [],
    };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    unseen.push(`where policies are placed is not seen, so clusters that no roll-up lists may be planned otherwise: ${nextStep(error)}`);
    return undefined;
  }
}

const isAt =
  (ref: { readonly namespace: string; readonly name: string }) =>
  ({ metadata }: KubeObject): boolean =>
    metadata.name === ref.name && metadata.namespace === ref.namespace;

/** By the function that the hub plans with; what only a running hub knows counts as allowed. */
export function planHere(observed: ObservedUpgrade, spec: ClusterGroupUpgradeSpec): UpgradePlan {
  const wanted = observed.config?.spec?.overrides?.preCacheImage?.trim();
  return planUpgrade(unbound(observed), spec, {
    talmStrict: false,
    updateGraphUrl: undefined,
    lookUpRelease: () => ({ kind: 'pending' }),
    readPolicy: (policy) => objectDefinitions(policy),
    standalone: false,
    now: Date.now,
    precacheImage: 'the image of the hub',
    precacheImageAllow: wanted ? [repositoryOf(wanted)] : [],
  });
}

/** A plan says what would be done now, whatever was saved before. */
function unbound(observed: ObservedUpgrade): ObservedUpgrade {
  const { [Annotation.plan]: _, ...annotations } = observed.upgrade.metadata.annotations ?? {};
  return { ...observed, upgrade: { ...observed.upgrade, metadata: { ...observed.upgrade.metadata, annotations } } };
}

/** Longest text of standard input that is read, in characters. */
const MAX_INPUT = 16 * 1024 * 1024;

/** A text with manifests, and its place. */
interface ManifestText {
  readonly file: string;
  readonly text: string;
}

/**
 * Reads `-f` as kubectl does: a file, standard input as `-`, or the YAML and JSON files of a folder, by name.
 * @throws FlotillaError `FLOTILLA_CONFIG` for one that cannot be read, or a folder without such a file
 */
async function readManifests(file: string): Promise<ManifestText[]> {
  if (file === '-') return [{ file: 'standard input', text: await readInput() }];
  const path = callersPath(file);
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return [await readOne(file, path)];
  const names = (await readdir(path)).filter((name) => /\.(?:ya?ml|json)$/.test(name)).toSorted();
  if (names.length === 0) throw new FlotillaError('FLOTILLA_CONFIG', `--file: ${file}: it has no file *.yaml, *.yml or *.json`);
  return Promise.all(names.map((name) => readOne(join(file, name), join(path, name))));
}

const readOne = async (file: string, path: string): Promise<ManifestText> => ({ file, text: (await readOptionFile('--file', path)) ?? '' });

async function readInput(): Promise<string> {
  let text = '';
  process.stdin.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    if (text.length > MAX_INPUT) process.stdin.destroy(new FlotillaError('FLOTILLA_CONFIG', '--file: standard input is too long'));
  });
  await once(process.stdin, 'end');
  return text;
}
