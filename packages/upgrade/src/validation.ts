/** Validates an UpgradeConfig (spec/muo 4.3). */
import { errorMessage } from '@flotilla/api';
import type { ClusterVersion } from '@flotilla/api/config';
import type { UpgradeConfigSpec } from '@flotilla/api/managed';
import {
  currentVersion,
  isCommenced,
  offeredUpdate,
  targetOf,
  type UpgradeTarget,
  versionSeen,
  versionUnderWay,
} from './cluster-version.ts';
import { parseTime } from './schedule.ts';
import { compareVersions, parseVersion } from './versions.ts';

/** Input of a validation. */
export interface ValidationInput {
  readonly spec: UpgradeConfigSpec;
  readonly clusterVersion: ClusterVersion;
  /** Ask the update graph when the channel changes. */
  readonly asksGraph: boolean;
  /** Answers of earlier look-ups. */
  readonly answers: { readonly imageVersion?: string; readonly updates?: readonly string[] };
}

/** Result of a validation: a verdict, or the next look-up. */
export type Validation =
  | { readonly kind: 'valid'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string }
  /** Version of the image, which must be written into the spec. */
  | { readonly kind: 'resolved'; readonly version: string }
  | { readonly kind: 'ask-image'; readonly image: string }
  | { readonly kind: 'ask-updates'; readonly channel: string; readonly version: string };

const VALID: Validation = { kind: 'valid', message: 'Upgrade config is valid' };
const refused = (message: string): Validation => ({ kind: 'refused', message });

const UPGRADE_AT = 'spec.upgradeAt must be a moment of the calendar in RFC 3339, such as 2026-03-01T22:00:00Z';

/** `registry/namespace/name@sha256:…` */
const PINNED_IMAGE = /^[^/@\s]+\/[^/@\s]+(\/[^/@\s]+)+@sha256:[a-f0-9]{64}$/;

/** Validates the spec. An update that the cluster follows already is checked by its form alone, because nothing is left to choose. */
export function validate(input: ValidationInput): Validation {
  const { spec, clusterVersion } = input;
  if (parseTime(spec.upgradeAt) === undefined)
    return refused(`Failed to parse upgradeAt:${spec.upgradeAt} during validation: ${UPGRADE_AT}`);
  const target = targetOf(spec);
  if (!target)
    return refused(
      'cannot find the correct upgrade spec source: set spec.desired.image, or both spec.desired.version and spec.desired.channel',
    );
  if (target.kind === 'image') return validateImage(target, input);
  const problem = versionProblem('upgrade config desired', target.version);
  if (problem) return refused(problem);
  if (isCommenced(clusterVersion, target)) return VALID;
  return compared(clusterVersion, target.version) ?? offered(target, input);
}

function validateImage(target: Extract<UpgradeTarget, { kind: 'image' }>, { clusterVersion, answers }: ValidationInput): Validation {
  const { image, version } = target;
  if (!PINNED_IMAGE.test(image))
    return refused(`failed to fetch image manifest digest: ${image} needs to be a valid release image: registry/namespace/name@sha256:…`);
  const imageVersion = answers.imageVersion ?? (isCommenced(clusterVersion, target) ? versionSeen(clusterVersion, image) : undefined);
  if (imageVersion === undefined) return { kind: 'ask-image', image };
  const problem = versionProblem('release image', imageVersion);
  if (problem) return refused(problem);
  if (imageVersion !== version) return { kind: 'resolved', version: imageVersion };
  if (isCommenced(clusterVersion, target)) return VALID;
  return compared(clusterVersion, version) ?? VALID;
}

function versionProblem(whose: string, version: string): string | undefined {
  try {
    parseVersion(version);
    return undefined;
  } catch (error) {
    return `failed to parse ${whose} version ${version} as semver: ${errorMessage(error)}`;
  }
}

/** Explains why the version is no step forward. */
function compared(clusterVersion: ClusterVersion, version: string): Validation | undefined {
  const current = currentVersion(clusterVersion);
  if (current === undefined) return refused('failed to get current version');
  const problem = versionProblem('current', current);
  if (problem) return refused(problem);
  const order = compareVersions(parseVersion(version), parseVersion(current));
  if (order < 0) return refused(`downgrades to desired version ${version} from ${current} are unsupported`);
  if (order === 0) return refused(`desired version ${version} matches the current version ${current}`);
  // An UpgradeConfig that was made anew in mid-version may ask for less than the one before it.
  const next = versionUnderWay(clusterVersion);
  if (next === undefined || versionProblem('next', next) || compareVersions(parseVersion(version), parseVersion(next)) >= 0)
    return undefined;
  return refused(`downgrades to desired version ${version} from ${next}, which is being applied, are unsupported`);
}

function offered({ version, channel }: Extract<UpgradeTarget, { kind: 'version' }>, input: ValidationInput): Validation {
  const { clusterVersion, asksGraph, answers } = input;
  if (clusterVersion.spec.channel === channel) {
    const offer = offeredUpdate(clusterVersion, version);
    if (!offer) return refused(`version ${version} not found in clusterversion available or conditional updates`);
    return offer.kind === 'available' ? VALID : { kind: 'valid', message: `Upgrade config is valid${risksOf(clusterVersion, version)}` };
  }
  if (!asksGraph) return VALID;
  const current = currentVersion(clusterVersion) ?? '';
  if (!answers.updates) return { kind: 'ask-updates', channel, version: current };
  if (answers.updates.length === 0) return refused(`no available upgrade for the given clusterversion ${current}`);
  return answers.updates.includes(version) ? VALID : refused(`cannot find version ${version} in available updates`);
}

/** Names the risks of a conditional update, which are accepted. */
function risksOf({ status }: ClusterVersion, version: string): string {
  const risks = status?.conditionalUpdates?.find(({ release }) => release.version === version)?.risks.map(({ name }) => name) ?? [];
  return risks.length > 0 ? `; risks of this conditional update are accepted: ${risks.join(', ')}` : '';
}
