/** Judges which objects of a hub that TALM manages carry over to Flotilla's hub. Pure. */
import { findCondition, foreign, type KubeObject, refKey } from '@flotilla/api';
import {
  ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  type ClusterGroupUpgradeSpec,
  type ConditionReason,
  fixOf,
  hasFailedPrecache,
  isFinalPrecacheState,
  type PreCachingConfig,
} from '@flotilla/api/ran';
import { findUnknownAnnotation, isEnding, isRunning, stateOf } from '@flotilla/rollout';
import { z } from 'zod';
import { type Issue, parseSpec } from '../plan/read.ts';

/** Verdicts, from the one that stops the move to the one that needs nothing. */
export const Verdict = z.enum(['stopFirst', 'refused', 'missing', 'differs', 'carriesOver']);
/** One of them. */
export type Verdict = z.output<typeof Verdict>;

/** Answer of `flotilla check talm`. */
export const TalmCheck = z.object({
  objects: z.array(
    z.object({
      object: z.string().describe('Kind, and namespace/name.'),
      verdict: Verdict,
      why: z.string(),
      fix: z.string().optional().describe('The next step; absent where there is nothing to do.'),
    }),
  ),
});
/** One. */
export type TalmCheck = z.output<typeof TalmCheck>;

type Row = TalmCheck['objects'][number];

/** Verdict of the hub on an upgrade that it holds. */
interface Refusal {
  readonly reason: ConditionReason;
  readonly message: string;
}

/** Objects of the hub, as its API server has them. */
export interface TalmHub {
  /** Deployments whose name is the reference's. */
  readonly managers: readonly KubeObject[];
  readonly upgrades: readonly KubeObject[];
  readonly configs: readonly PreCachingConfig[];
  /** ImageBasedGroupUpgrades. */
  readonly groups: readonly KubeObject[];
  /** Why this hub would hold an upgrade that has not begun, by `namespace/name`. */
  readonly refusals: ReadonlyMap<string, Refusal>;
  /** Whether the CRD of ClusterGroupUpgrades keeps the parts of the status that only Flotilla writes. */
  readonly keepsOurStatus: boolean;
}

/** Names of the reference's Deployments begin so (spec/talm 7). */
export const MANAGER_NAME = 'cluster-group-upgrades-controller-manager';

/** Judges every object; those that need something come first. */
export function judgeTalmHub(hub: TalmHub): TalmCheck {
  const rows = [
    ...hub.managers.flatMap(judgeManager),
    ...hub.groups.map(judgeGroup),
    ...(hub.upgrades.length > 0 && !hub.keepsOurStatus ? [OLD_CRD] : []),
    ...hub.upgrades.flatMap((upgrade) => judgeUpgrade(upgrade, hub.refusals.get(refKey(upgrade.metadata)))),
    ...hub.configs.map(judgeConfig),
  ];
  const rank = (row: Row) => Verdict.options.indexOf(row.verdict);
  return { objects: rows.toSorted((a, b) => rank(a) - rank(b)) };
}

const Manager = foreign(
  z.object({
    metadata: z.object({ ownerReferences: z.array(z.object({ kind: z.string(), name: z.string() })).optional() }),
    spec: z.object({ replicas: z.number().default(1) }).optional(),
  }),
);

function judgeManager(manager: KubeObject): Row[] {
  const object = nameOf('Deployment', manager);
  const { metadata: { ownerReferences = [] } = {}, spec } = Manager.safeParse(manager).data ?? {};
  if (spec?.replicas === 0) return [{ object, verdict: 'carriesOver', why: 'TALM is scaled to 0' }];
  const { namespace, name } = manager.metadata;
  const owner = ownerReferences.find(({ kind }) => kind === 'ClusterServiceVersion');
  const fix = owner
    ? `delete its Subscription, then kubectl -n ${namespace} delete clusterserviceversions.operators.coreos.com ${owner.name}: OLM undoes a scaling`
    : `kubectl -n ${namespace} scale deployment ${name} --replicas=0`;
  return [{ object, verdict: 'stopFirst', why: 'TALM runs, and both would act on the same upgrades', fix }];
}

const judgeGroup = (group: KubeObject): Row => ({
  object: nameOf('ImageBasedGroupUpgrade', group),
  verdict: 'missing',
  why: 'this kind is not carried out',
  fix: 'create the ClusterGroupUpgrades and ManifestWorkReplicaSets that it would make',
});

const OLD_CRD: Row = {
  object: 'CustomResourceDefinition clustergroupupgrades.ran.openshift.io',
  verdict: 'differs',
  why: 'it drops what only Flotilla writes: status.waits, status.messages, progress of pre-caching and the time of a pause',
  fix: 'install the CRDs of charts/hub (crds.enabled) over it: they accept every stored object',
};

function judgeUpgrade(given: KubeObject, refusal: Refusal | undefined): Row[] {
  const object = nameOf('ClusterGroupUpgrade', given);
  const parsed = ClusterGroupUpgrade.schema.safeParse(given);
  if (!parsed.success) return [refused(object, parsed.error.issues[0])];
  const upgrade = parsed.data;
  if (isEnding(upgrade)) return [{ object, verdict: 'carriesOver', why: endedWhy(upgrade) }];
  const { spec, issue } = parseSpec(upgrade);
  if (issue) return [refused(object, issue, 'spec')];
  const unknown = findUnknownAnnotation(upgrade);
  if (unknown !== undefined) return [{ object, verdict: 'refused', why: unknown, fix: 'correct or remove the annotation' }];
  if (refusal) return [{ object, verdict: 'refused', why: refusal.message.trim(), fix: fixOf(refusal.reason) }];
  const differences = differencesOf(upgrade, spec).map((row) => ({ object, verdict: 'differs' as const, ...row }));
  return differences.length > 0 ? differences : [{ object, verdict: 'carriesOver', why: goesOn(upgrade) }];
}

function refused(object: string, issue: Issue | undefined, root = ''): Row {
  const field = [root, ...(issue?.path ?? [])].filter((part) => part !== '').join('.') || 'the object';
  return { object, verdict: 'refused', why: `${field}: ${issue?.message ?? 'cannot be read'}`, fix: `correct ${field}` };
}

function endedWhy(upgrade: ClusterGroupUpgrade): string {
  if (upgrade.metadata.deletionTimestamp !== undefined) return 'it is being deleted, which goes on';
  return stateOf(upgrade) === 'cleaned' ? 'it has ended and stays as it is' : 'it has ended; what it left is removed';
}

function goesOn({ status }: ClusterGroupUpgrade): string {
  const { currentBatch, startedAt } = status?.status ?? {};
  if (currentBatch) return `it runs, and goes on in batch ${currentBatch} of ${status?.remediationPlan?.length ?? 0}`;
  return startedAt === undefined ? 'it is planned anew, and waits for the same' : 'it runs, and goes on with its first batch';
}

function differencesOf(upgrade: ClusterGroupUpgrade, spec: ClusterGroupUpgradeSpec): { why: string; fix?: string }[] {
  const { status } = upgrade;
  const states = Object.values(status?.precaching?.status ?? {});
  const begun = states.filter((state) => state !== 'NotStarted' && !isFinalPrecacheState(state)).length;
  const hasFailed = states.length > 0 && states.every(hasFailedPrecache);
  const backedUp = findCondition(status?.conditions, ClusterGroupUpgradeCondition.backupSucceeded)?.status === 'True';
  const differences = [
    { is: begun > 0, why: `clusters that pre-cache now (${begun}) begin anew; images that are there already are not pulled again` },
    {
      is: hasFailed,
      why: 'every cluster failed pre-caching: TALM polls for ever, here the upgrade ends as Failed',
      fix: 'start the hub with --talm-strict to keep it waiting',
    },
    {
      is: spec.backup && !backedUp,
      why: 'it wants a backup, for which this hub has no image of its own',
      fix: 'start the hub with --backup-image, or set spec.backup to false',
    },
  ];
  return isRunning(upgrade) ? [] : differences.flatMap(({ is, ...difference }) => (is ? [difference] : []));
}

/** Fields that TALM ignores since they were deprecated. */
const IGNORED_BY_TALM = ['platformImage', 'operatorsIndexes', 'preCacheImage'] as const;

function judgeConfig(config: PreCachingConfig): Row {
  const object = nameOf('PreCachingConfig', config);
  const { overrides } = config.spec ?? {};
  const counted = IGNORED_BY_TALM.filter((field) => overrides?.[field] !== undefined && overrides[field].length > 0);
  if (counted.length === 0) return { object, verdict: 'carriesOver', why: 'it means the same' };
  const allow = counted.includes('preCacheImage') ? '; preCacheImage has to match the hub option --precache-image-allow' : '';
  const names = counted.map((field) => `spec.overrides.${field}`).join(', ');
  return {
    object,
    verdict: 'differs',
    why: `TALM ignores ${names}; here they count`,
    fix: `remove them to keep what was${allow}, or start the hub with --talm-strict`,
  };
}

const nameOf = (kind: string, { metadata }: KubeObject): string => `${kind} ${refKey(metadata)}`;
