/** Which fields of a spec a rollout goes by, and which edits of them do not count. Pure. */
import { findCondition } from '@flotilla/api';
import {
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  type ClusterGroupUpgradeSpec,
  type ClusterGroupUpgradeStatus,
  explain,
} from '@flotilla/api/ran';
import { isEnding, isRunning } from '../upgrade/stage.ts';
import { digestOf } from '../values/json-value.ts';
import { isOpenToMembers } from './upgrade-annotations.ts';

type Effect = NonNullable<ClusterGroupUpgradeStatus['effect']>;
type Status = ClusterGroupUpgradeStatus;

/** Until when an edit counts: the start of the rollout, its verdict, or the end of the clean-up. */
type Moment = 'start' | 'verdict' | 'cleaned';

/** A field of the spec. `joins`: it counts until the verdict where clusters may join. */
interface Field {
  readonly until: Moment;
  readonly joins?: true;
  readonly of: (spec: ClusterGroupUpgradeSpec) => unknown;
}

const FIELDS: Readonly<Record<string, Field>> = {
  backup: { until: 'start', of: ({ backup }) => backup },
  preCaching: { until: 'start', joins: true, of: ({ preCaching }) => preCaching },
  preCachingConfigRef: { until: 'start', of: ({ preCachingConfigRef }) => preCachingConfigRef },
  enable: { until: 'start', of: ({ enable }) => enable },
  clusters: { until: 'start', joins: true, of: ({ clusters }) => clusters },
  clusterSelector: { until: 'start', joins: true, of: ({ clusterSelector }) => clusterSelector },
  clusterLabelSelectors: { until: 'start', joins: true, of: ({ clusterLabelSelectors }) => clusterLabelSelectors },
  'remediationStrategy.canaries': { until: 'start', of: ({ remediationStrategy }) => remediationStrategy.canaries },
  'remediationStrategy.maxConcurrency': { until: 'start', of: ({ remediationStrategy }) => remediationStrategy.maxConcurrency },
  'remediationStrategy.timeout': { until: 'verdict', of: ({ remediationStrategy }) => remediationStrategy.timeout },
  managedPolicies: { until: 'start', of: ({ managedPolicies }) => managedPolicies },
  manifestWorkTemplates: { until: 'start', of: ({ manifestWorkTemplates }) => manifestWorkTemplates },
  blockingCRs: { until: 'start', joins: true, of: ({ blockingCRs }) => blockingCRs },
  'actions.beforeEnable': { until: 'verdict', of: ({ actions }) => actions?.beforeEnable },
  'actions.afterCompletion': {
    until: 'verdict',
    of: ({ actions }) => actions?.afterCompletion && { ...actions.afterCompletion, deleteObjects: undefined },
  },
  'actions.afterCompletion.deleteObjects': { until: 'cleaned', of: ({ actions }) => actions?.afterCompletion?.deleteObjects ?? true },
  batchTimeoutAction: { until: 'verdict', of: ({ batchTimeoutAction }) => batchTimeoutAction },
};

/**
 * The spec that the rollout goes by, for the next status; undefined before its start, when every edit counts.
 * @param upgrade with its stored status
 * @param status the next one
 */
export function effectOf(upgrade: ClusterGroupUpgrade, status: Status): Effect | undefined {
  const { generation = 0 } = upgrade.metadata;
  const next = { ...upgrade, status };
  if (!isRunning(next) && verdictOf(status) === undefined) return undefined;
  const known = isRunning(upgrade) || isEnding(upgrade) ? upgrade.status?.effect : undefined;
  if (!known) return editedUnseen(upgrade) ?? { generation, fields: digestsOf(upgrade) };
  if (known.generation === generation || !known.fields) return known;
  const fields = { ...known.fields, ...digestsOf(upgrade, (field) => counts(field, upgrade)) };
  return findEdits({ generation: known.generation, fields }, upgrade).length > 0
    ? { generation: known.generation, fields }
    : { generation, fields };
}

/** An upgrade that ended under a hub that noted nothing: its verdict is about an older spec. */
function editedUnseen({ metadata, status }: ClusterGroupUpgrade): Effect | undefined {
  const seen = status && verdictOf(status)?.observedGeneration;
  const isOlder = seen !== undefined && status?.observedGeneration !== undefined && seen < (metadata.generation ?? 0);
  return isOlder ? { generation: seen } : undefined;
}

/** The sentence on edits of the spec that do not count, with what to do; undefined where there are none. */
export function describeIgnoredEdits(upgrade: ClusterGroupUpgrade, effect: Effect | undefined): string | undefined {
  const { generation = 0 } = upgrade.metadata;
  if (!effect || effect.generation === generation) return undefined;
  if (!effect.fields) {
    const past = `The upgrade ended by generation ${effect.generation} of its spec, and this is generation ${generation}`;
    return explain('EditsIgnored', `${past}: it was edited too late to count, and it is not known where`);
  }
  const edits = findEdits(effect, upgrade);
  return edits.length === 0
    ? undefined
    : explain('EditsIgnored', `Edited too late to count: ${edits.map((name) => `spec.${name}`).join(', ')}`);
}

const verdictOf = ({ conditions }: Status) => findCondition(conditions, ClusterGroupUpgradeCondition.succeeded);

/** An edit of the field counts now. */
function counts({ until, joins }: Field, upgrade: ClusterGroupUpgrade): boolean {
  if (upgrade.status && verdictOf(upgrade.status)) return until === 'cleaned' && upgrade.status.status.completedAt === undefined;
  return until !== 'start' || (joins === true && isOpenToMembers(upgrade));
}

/** A field that the record does not have was no field for the hub that made it. */
const findEdits = ({ fields = {} }: Effect, upgrade: ClusterGroupUpgrade): string[] =>
  Object.entries(digestsOf(upgrade, (_, name) => fields[name] !== undefined)).flatMap(([name, digest]) =>
    fields[name] === digest ? [] : [name],
  );

function digestsOf({ spec }: ClusterGroupUpgrade, wanted: (field: Field, name: string) => boolean = () => true): Record<string, string> {
  if (!spec) return {};
  return Object.fromEntries(
    Object.entries(FIELDS).flatMap(([name, field]) => (wanted(field, name) ? [[name, digestOf(field.of(spec))]] : [])),
  );
}
