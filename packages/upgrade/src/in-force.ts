/** Selects the upgrade of an UpgradeConfig: a started upgrade ends before another one starts. */
import { isSameJson } from '@flotilla/api';
import type { ClusterVersion } from '@flotilla/api/config';
import { EndReason, UpgradeCondition, type UpgradeConfig, type UpgradeConfigSpec, type UpgradeHistory } from '@flotilla/api/managed';
import { isCommenced, targetOf } from './cluster-version.ts';
import { conditionOf, findEntry, historyOf, isTrue } from './history.ts';
import { parseTime } from './schedule.ts';

/** Part of the spec that is fixed at the start of an upgrade. Changes of other fields apply at once. */
export type UpgradeBeginning = NonNullable<UpgradeHistory['begunWith']>;

/** Selects that part of a spec. */
export const beginningOf = ({ type, upgradeAt, desired }: UpgradeConfigSpec): UpgradeBeginning => ({ type, upgradeAt, desired });

/** Upgrade that runs or waits. */
interface UpgradeInForce {
  /** UpgradeConfig with the spec of this upgrade. */
  readonly upgradeConfig: UpgradeConfig;
  /** Undefined before the first reconcile. */
  readonly entry: UpgradeHistory | undefined;
  /** Later upgrade of the spec, which waits for this one's end; undefined when the spec asks for this one. */
  readonly held?: UpgradeBeginning;
}

/** Selects the running upgrade, even when the spec has changed; else the spec's upgrade. */
export function upgradeInForce(upgradeConfig: UpgradeConfig): UpgradeInForce {
  const { spec } = upgradeConfig;
  const history = historyOf(upgradeConfig);
  const entry = history.find(({ phase, begunWith }) => phase === 'Upgrading' && begunWith !== undefined);
  if (!entry?.begunWith) return { upgradeConfig, entry: attemptAt(history, spec) };
  const held = beginningOf(spec);
  if (isSameBeginning(entry.begunWith, held)) return { upgradeConfig, entry };
  return { upgradeConfig: { ...upgradeConfig, spec: { ...spec, ...entry.begunWith } }, entry, held };
}

/** Finds the version's newest entry if it belongs to this spec. An entry with another start, or a withdrawn one, is of an earlier attempt. */
function attemptAt(history: readonly UpgradeHistory[], spec: UpgradeConfigSpec): UpgradeHistory | undefined {
  const entry = findEntry(history, spec.desired.version ?? '');
  if (!entry || isWithdrawn(entry)) return undefined;
  const { begunWith, phase, startTime } = entry;
  if (begunWith) return isSameBeginning(begunWith, beginningOf(spec)) ? entry : undefined;
  // Older operators do not record the start, and have given up an upgrade that was due by then.
  const isLater = phase === 'Failed' && startTime !== undefined && (parseTime(spec.upgradeAt) ?? 0) > Date.parse(startTime);
  return isLater ? undefined : entry;
}

/** True for an attempt that ended unchanged because its upgrade was not wanted any more. */
export const isWithdrawn = (entry: UpgradeHistory): boolean => conditionOf(entry, UpgradeCondition.ended)?.reason === EndReason.withdrawn;

/** True for an upgrade that has started and not ended. */
export const isUnderWay = (upgradeConfig: UpgradeConfig): boolean => upgradeInForce(upgradeConfig).entry?.phase === 'Upgrading';

/**
 * True once the cluster was sent to the target of an upgrade, also after somebody has cleared or changed the desired update since.
 * @param clusterVersion undefined when it cannot be seen at the moment
 */
export function isSent({ upgradeConfig, entry }: Omit<UpgradeInForce, 'held'>, clusterVersion: ClusterVersion | undefined): boolean {
  if (entry && isTrue(entry, UpgradeCondition.commenced)) return true;
  const target = targetOf(upgradeConfig.spec);
  return clusterVersion !== undefined && target !== undefined && isCommenced(clusterVersion, target);
}

/** Compares starts; equal times may be written differently. */
export function isSameBeginning(a: UpgradeBeginning, b: UpgradeBeginning): boolean {
  const normalised = ({ upgradeAt, ...rest }: UpgradeBeginning) => ({ ...rest, upgradeAt: parseTime(upgradeAt) ?? upgradeAt });
  return isSameJson(normalised(a), normalised(b));
}

/**
 * Describes a held upgrade for people.
 * @param wanted undefined when no upgrade is wanted any more
 */
export const heldMessage = (who: string, wanted: UpgradeBeginning | undefined, current: UpgradeConfig): string =>
  `${askedMessage(who, wanted)}: held until the upgrade to ${nameOf(current.spec.desired)} has ended`;

/**
 * Describes the wanted upgrade for people.
 * @param wanted undefined when no upgrade is wanted any more
 */
export const askedMessage = (who: string, wanted: UpgradeBeginning | undefined): string =>
  wanted ? `${who} asks for ${nameOf(wanted.desired)} from ${wanted.upgradeAt} on` : `${who} asks for no upgrade any more`;

const nameOf = ({ version = '', channel = '', image = '' }: UpgradeBeginning['desired']): string =>
  version === '' ? image : channel === '' ? version : `${version} (${channel})`;
