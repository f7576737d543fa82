/** Which upgrade an UpgradeConfig stands for: one that has begun comes to its end before another one begins. */
import { isSameJson } from '@flotilla/api';
import type { UpgradeConfig, UpgradeConfigSpec, UpgradeHistory } from '@flotilla/api/managed';
import { findEntry, historyOf } from './history.ts';
import { parseTime } from './schedule.ts';

/** What an upgrade is begun with. Whatever else the spec says counts at once, in mid-upgrade too. */
export type UpgradeBeginning = NonNullable<UpgradeHistory['begunWith']>;

/** What of a spec an upgrade is begun with. */
export const beginningOf = ({ type, upgradeAt, desired }: UpgradeConfigSpec): UpgradeBeginning => ({ type, upgradeAt, desired });

/** The upgrade that is carried out, or waited for. */
export interface UpgradeInForce {
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
  const held = beginningOf(spec);
  if (!entry?.begunWith || isSameBeginning(entry.begunWith, held))
    return { upgradeConfig, entry: findEntry(history, spec.desired.version ?? '') };
  return { upgradeConfig: { ...upgradeConfig, spec: { ...spec, ...entry.begunWith } }, entry, held };
}

/** It has begun and not ended. */
export const isUnderWay = (upgradeConfig: UpgradeConfig): boolean => upgradeInForce(upgradeConfig).entry?.phase === 'Upgrading';

/** The same moment may be written in several ways. */
export function isSameBeginning(a: UpgradeBeginning, b: UpgradeBeginning): boolean {
  const normalised = ({ upgradeAt, ...rest }: UpgradeBeginning) => ({ ...rest, upgradeAt: parseTime(upgradeAt) ?? upgradeAt });
  return isSameJson(normalised(a), normalised(b));
}

/** What is waited with, for people. @param wanted undefined when no upgrade is wanted any more */
export function heldMessage(who: string, wanted: UpgradeBeginning | undefined, current: UpgradeConfig): string {
  const until = `held until the upgrade to ${nameOf(current.spec.desired)} has ended`;
  return wanted
    ? `${who} asks for ${nameOf(wanted.desired)} from ${wanted.upgradeAt} on: ${until}`
    : `${who} asks for no upgrade any more: ${until}`;
}

const nameOf = ({ version = '', channel = '', image = '' }: UpgradeBeginning['desired']): string =>
  version === '' ? image : channel === '' ? version : `${version} (${channel})`;
