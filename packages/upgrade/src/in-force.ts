/** Which upgrade an UpgradeConfig stands for: one that has begun comes to its end before another one begins. */
import { isSameJson } from '@flotilla/api';
import { EndReason, UpgradeCondition, type UpgradeConfig, type UpgradeConfigSpec, type UpgradeHistory } from '@flotilla/api/managed';
import { conditionOf, findEntry, historyOf } from './history.ts';
import { parseTime } from './schedule.ts';

/** What an upgrade is begun with. Whatever else the spec says counts at once, in mid-upgrade too. */
export type UpgradeBeginning = NonNullable<UpgradeHistory['begunWith']>;

/** What of a spec an upgrade is begun with. */
export const beginningOf = ({ type, upgradeAt, desired }: UpgradeConfigSpec): UpgradeBeginning => ({ type, upgradeAt, desired });

/** The upgrade that is carried out, or waited for. */
interface UpgradeInForce {
  /** With the spec that counts for it. */
  readonly upgradeConfig: UpgradeConfig;
  /** Undefined as long as nobody has looked at it. */
  readonly entry: UpgradeHistory | undefined;
  /** What the spec asks for by now, and what waits for the end of this one; undefined when that is this one. */
  readonly held?: UpgradeBeginning;
}

/** The upgrade that is under way, whatever the spec asks for by now; else the one that it asks for. */
export function upgradeInForce(upgradeConfig: UpgradeConfig): UpgradeInForce {
  const { spec } = upgradeConfig;
  const history = historyOf(upgradeConfig);
  const entry = history.find(({ phase, begunWith }) => phase === 'Upgrading' && begunWith !== undefined);
  if (!entry?.begunWith) return { upgradeConfig, entry: attemptAt(history, spec) };
  const held = beginningOf(spec);
  if (isSameBeginning(entry.begunWith, held)) return { upgradeConfig, entry };
  return { upgradeConfig: { ...upgradeConfig, spec: { ...spec, ...entry.begunWith } }, entry, held };
}

/** The newest entry of the version, where it stands for this spec. One that was begun with another spec, or was withdrawn, is of an earlier attempt. */
function attemptAt(history: readonly UpgradeHistory[], spec: UpgradeConfigSpec): UpgradeHistory | undefined {
  const entry = findEntry(history, spec.desired.version ?? '');
  if (!entry || isWithdrawn(entry)) return undefined;
  const { begunWith, phase, startTime } = entry;
  if (begunWith) return isSameBeginning(begunWith, beginningOf(spec)) ? entry : undefined;
  // An operator that does not say with what it began gave up an upgrade that was due by then.
  const isLater = phase === 'Failed' && startTime !== undefined && (parseTime(spec.upgradeAt) ?? 0) > Date.parse(startTime);
  return isLater ? undefined : entry;
}

/** The attempt ended before it changed anything, for it was not asked for any more. */
export const isWithdrawn = (entry: UpgradeHistory): boolean => conditionOf(entry, UpgradeCondition.ended)?.reason === EndReason.withdrawn;

/** It has begun and not ended. */
export const isUnderWay = (upgradeConfig: UpgradeConfig): boolean => upgradeInForce(upgradeConfig).entry?.phase === 'Upgrading';

/** The same moment may be written in several ways. */
export function isSameBeginning(a: UpgradeBeginning, b: UpgradeBeginning): boolean {
  const normalised = ({ upgradeAt, ...rest }: UpgradeBeginning) => ({ ...rest, upgradeAt: parseTime(upgradeAt) ?? upgradeAt });
  return isSameJson(normalised(a), normalised(b));
}

/** What is waited with, for people. @param wanted undefined when no upgrade is wanted any more */
export const heldMessage = (who: string, wanted: UpgradeBeginning | undefined, current: UpgradeConfig): string =>
  `${askedMessage(who, wanted)}: held until the upgrade to ${nameOf(current.spec.desired)} has ended`;

/** What is asked for by now, for people. @param wanted undefined when no upgrade is wanted any more */
export const askedMessage = (who: string, wanted: UpgradeBeginning | undefined): string =>
  wanted ? `${who} asks for ${nameOf(wanted.desired)} from ${wanted.upgradeAt} on` : `${who} asks for no upgrade any more`;

const nameOf = ({ version = '', channel = '', image = '' }: UpgradeBeginning['desired']): string =>
  version === '' ? image : channel === '' ? version : `${version} (${channel})`;
