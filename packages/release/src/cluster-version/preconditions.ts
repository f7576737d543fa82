import { findCondition } from '@flotilla/api';
import type { ClusterVersion } from '@flotilla/api/config';
import { compare } from 'semver';
import { UpdateError } from '../graph/update-error.ts';
import { differenceOf, parseVersion, type Version } from '../semantic-version.ts';
import { OVERRIDES_MESSAGE } from './risks.ts';

/** Why an update may not be safe. */
export interface PreconditionFailure {
  readonly name: string;
  readonly reason: string;
  readonly message: string;
  /** Stops the update unless it is forced. */
  readonly blocking: boolean;
}

interface AskedUpdate {
  readonly clusterVersion: ClusterVersion;
  /** Version of the payload. */
  readonly target: string;
}

interface Question extends AskedUpdate {
  readonly current: string;
  readonly from: Version;
  readonly to: Version;
}

type Verdict = Omit<PreconditionFailure, 'name'> | undefined;

const blocks = (reason: string, message: string): Verdict => ({ reason, message, blocking: true });
const warns = (reason: string, message: string): Verdict => ({ reason, message, blocking: false });

/** Checks of two versions in the order in which they are told. */
const versionChecks: readonly (readonly [name: string, check: (question: Question) => Verdict])[] = [
  ['ClusterVersionRollback', rollback],
  ['ClusterVersionGiantHop', giantHop],
  ['ClusterVersionUpgradeable', upgradeable],
];

/** Every reason not to update that the cluster's own state gives (spec/cvo 4.7). */
export function checkPreconditions(asked: AskedUpdate): readonly PreconditionFailure[] {
  const current = asked.clusterVersion.status?.desired?.version ?? '';
  const [from, to] = [parseVersion(current), parseVersion(asked.target)];
  const versions = versionChecks.map(([name, check]) => {
    if (from === undefined)
      return named(name, warns('InvalidCurrentVersion', `${JSON.stringify(current)} is not a valid semantic version`));
    if (to === undefined)
      return named(name, blocks('InvalidDesiredVersion', `${JSON.stringify(asked.target)} is not a valid semantic version`));
    return named(name, check({ ...asked, current, from, to }));
  });
  return [...versions, named('ClusterVersionRecommendedUpdate', recommended(asked, current))].flatMap((failure) => failure ?? []);
}

const named = (name: string, verdict: Verdict): PreconditionFailure | undefined => verdict && { name, ...verdict };

function rollback({ clusterVersion: { status }, current, target, from, to }: Question): Verdict {
  if (compare(to, from) >= 0) return undefined;
  const image = status?.desired?.image ?? '';
  const entry = status?.history?.find((one) => one.version !== current || one.image !== image);
  const previous = entry && parseVersion(entry.version);
  const less = `${target} is less than the current target ${current}`;
  if (!entry || !previous) return blocks('LowDesiredVersion', `${less}, and the cluster has no previous Semantic Version`);
  if (compare(previous, to) !== 0)
    return blocks(
      'LowDesiredVersion',
      `${less}, and the only supported rollback is to the cluster's previous version ${entry.version} (${entry.image})`,
    );
  if (differenceOf(previous, from) === undefined) return undefined;
  return blocks(
    'LowDesiredVersion',
    `${less} and matches the cluster's previous version, but rollbacks that change major or minor versions are not recommended`,
  );
}

function giantHop({ current, target, from, to }: Question): Verdict {
  const { major, minor } = from;
  const { major: toMajor, minor: toMinor } = to;
  if (toMajor > major) {
    if (major === 4 && toMajor === 5 && toMinor === 0) return undefined;
    const also = major === 4 && toMajor === 5 ? ' or to 5.0' : '';
    return blocks(
      'MajorVersionUpdate',
      `${target} has a larger major version than the current target ${current} (${toMajor} > ${major}), and only updates within the current major version${also} are supported.`,
    );
  }
  if (toMajor < major || toMinor <= minor + 1) return undefined;
  return blocks(
    'MultipleMinorVersionsUpdate',
    `${target} is more than one minor version beyond the current target ${current} (${toMajor}.${toMinor} > ${major}.(${minor}+1)), and only updates within the current minor version or to the next minor version are supported.`,
  );
}

function upgradeable({ clusterVersion: { spec, status }, current, target, from, to }: Question): Verdict {
  const condition = findCondition(status?.conditions, 'Upgradeable');
  if (condition?.status !== 'False') return undefined;
  if (compare(to, from) > 0 && differenceOf(from, to) !== undefined) return blocks(condition.reason, condition.message);
  if (spec.overrides?.some(({ unmanaged }) => unmanaged))
    return warns(
      'ClusterVersionOverridesSet',
      `Retarget from ${current} to ${target} is not blocked by ClusterVersionOverridesSet. But ${OVERRIDES_MESSAGE}`,
    );
  const done = status?.history?.find(({ state }) => state === 'Completed')?.version ?? '';
  const completed = parseVersion(done);
  const step = completed && compare(completed, from) < 0 ? differenceOf(completed, from) : undefined;
  const isMoving = findCondition(status?.conditions, 'Progressing')?.status === 'True';
  if (step === undefined || !isMoving || differenceOf(from, to) !== undefined) return undefined;
  return warns(
    `${step === 'minor' ? 'Minor' : 'Major'}VersionClusterUpdateInProgress`,
    `Retarget to ${target} while a ${step} version update from ${done} to ${current} is in progress`,
  );
}

function recommended({ clusterVersion: { spec, status }, target }: AskedUpdate, current: string): Verdict {
  if (status?.availableUpdates?.some(({ version }) => version === target)) return undefined;
  const update = `Update from ${current} to ${target}`;
  const conditional = status?.conditionalUpdates?.find(({ release }) => release.version === target);
  if (conditional) {
    const condition = findCondition(conditional.conditions, 'Recommended');
    if (!condition) return warns('UnknownConditionType', `${update} has a status.conditionalUpdates entry, but no Recommended condition.`);
    const { reason, message } = condition;
    if (condition.status === 'True') return undefined;
    return condition.status === 'False'
      ? warns(reason, `${update} is not recommended:\n\n${message}`)
      : warns(reason, `${update} is Recommended=Unknown: ${reason}: ${message}`);
  }
  const updating = `updating from ${current} to ${target}`;
  if (!spec.channel) return warns('NoChannel', `Configured channel is unset, so the recommended status of ${updating} is unknown.`);
  const retrieved = findCondition(status?.conditions, 'RetrievedUpdates');
  if (!retrieved) return warns('UnknownUpdate', `No RetrievedUpdates, so the recommended status of ${updating} is unknown.`);
  const how = `RetrievedUpdates=${retrieved.status} (${retrieved.reason})`;
  return retrieved.status === 'True'
    ? warns('UnknownUpdate', `${how}, so the update from ${current} to ${target} is probably neither recommended nor supported.`)
    : warns('UnknownUpdate', `${how}, so the recommended status of ${updating} is unknown.`);
}

interface PreconditionSummary {
  /** Stops the update. */
  readonly error?: UpdateError;
  /** Told as accepted where the update goes on all the same. */
  readonly acceptedRisks?: string;
}

/** Sums up failed preconditions: a blocking one stops an update that is not forced. */
export function summarizePreconditions(failures: readonly PreconditionFailure[], force: boolean): PreconditionSummary {
  if (failures.length === 0) return {};
  const texts = failures.map(({ name, reason, message }) => `Precondition "${name}" failed because of "${reason}": ${message}`);
  const summary =
    texts.length === 1 ? (texts[0] ?? '') : `Multiple precondition checks failed:${texts.map((text) => `\n* ${text}`).join('')}`;
  if (!failures.some(({ blocking }) => blocking)) return { acceptedRisks: summary };
  if (force) return { acceptedRisks: `Forced through blocking failures: ${summary}` };
  return { error: new UpdateError({ reason: 'UpgradePreconditionCheckFailed', message: summary, names: ['PreconditionCheck'] }) };
}
