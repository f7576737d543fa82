import { findCondition } from '@flotilla/api';
import type { ClusterVersion, ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk, Release } from '@flotilla/api/config';
import type { UpdateError } from '../graph/update-error.ts';
import type { EnabledCapabilities } from '../inclusion/capabilities.ts';
import { acceptedOf, type NamedRelease, stepFailedMessage } from './acceptance.ts';
import { conditionsAfter, type Verdict } from './conditions.ts';
import { type FailureReading, readFailure } from './failure.ts';
import { historyAfter } from './history.ts';
import { nameOfRelease, progressOf } from './progress.ts';
import { findUpgradeRisks, type RiskSources, type UpgradeRisk, upgradeableOf } from './risks.ts';
import { ACCEPT_RISKS, type FoundUpdates, riskyUpdates } from './risky-updates.ts';
import { type FieldError, validateClusterVersion } from './validation.ts';
import type { WorkReport } from './work-report.ts';

/** Updates that are known, and the condition about the request for them. */
export interface KnownUpdates {
  /** The RetrievedUpdates condition. */
  readonly retrieved: Verdict;
  /** Null where none are known. */
  readonly available: readonly Release[] | null;
  readonly conditional: readonly ConditionalUpdate[];
  /** The running release as the update graph describes it. */
  readonly current?: Release | undefined;
  /** Findings that these lists were made of, and further risks; undefined where nothing is known. */
  readonly found?: FoundUpdates | undefined;
}

/** Updates as they are listed, with their risks where these are told. */
type ListedUpdates = Pick<KnownUpdates, 'conditional'> & { readonly risks?: readonly ConditionalUpdateRisk[] };

/** All that the status of a ClusterVersion is made of. */
export interface ClusterVersionSnapshot {
  readonly object: ClusterVersion;
  /** Undefined before there is any work: then only the spec is judged. */
  readonly work?: WorkReport | undefined;
  /** Undefined before updates were asked for. */
  readonly updates?: KnownUpdates | undefined;
  /** Sources of the risks of an update, besides the object. */
  readonly risks?: Omit<RiskSources, 'progressing' | 'overrides' | 'version'>;
}

/** A status, and what was found on the way to it. */
export interface ClusterVersionJudgement {
  readonly status: ClusterVersionStatus;
  readonly invalid: readonly FieldError[];
  /** Risks of an update to another minor or major version. */
  readonly risks: readonly UpgradeRisk[];
  /** When time alone changes the status, milliseconds since the epoch. */
  readonly changesAtMs?: number | undefined;
}

/** The status of a ClusterVersion (spec/cvo 5). Pure; what nobody says anything new about stays. */
export function clusterVersionStatus(snapshot: ClusterVersionSnapshot, nowMs: number): ClusterVersionJudgement {
  const { object, work } = snapshot;
  const stored = object.status;
  const featureGates = work?.featureGates ?? new Set<string>();
  const invalid = validateClusterVersion(object, { featureGates });
  const reading = work && readingOf(object, work, nowMs);
  const desired = work ? describeRelease(work.release, knownReleases(stored, snapshot.updates), work) : stored?.desired;
  const said = work ? workVerdicts({ object, work, reading, release: nameOfRelease(desired ?? work.release), invalid }) : [];
  const progressing = said.find(({ type }) => type === 'Progressing');
  const risks = risksOf(snapshot, progressing, desired);
  const upgradeable = snapshot.risks && upgradeableOf(risks);
  const isRisky = featureGates.has(ACCEPT_RISKS);
  const updates = isRisky ? riskyUpdates(snapshot.updates, { object, risks, version: desired?.version ?? '', nowMs }) : snapshot.updates;
  const verdicts = [...said, ...invalidVerdict(invalid), ...updateVerdicts(object, updates), ...(upgradeable ? [upgradeable] : [])];
  const removed = [...(invalid.length === 0 ? ['Invalid'] : []), ...(snapshot.risks && !upgradeable ? ['Upgradeable'] : [])];
  const fields = storedFields(stored);
  const status: ClusterVersionStatus = {
    ...fields,
    ...(updates && { availableUpdates: copyOf(updates.available), ...conditionalOf(updates) }),
    ...(work && workFields(stored, work, nowMs)),
    desired: desired ?? fields.desired,
    versionHash: work?.versionHash || fields.versionHash,
    observedGeneration: work?.generation ?? fields.observedGeneration,
    conditions: conditionsAfter(stored?.conditions, verdicts, { removed, nowMs }),
  };
  if (updates && updates.conditional.length === 0) delete status.conditionalUpdates;
  if (!isRisky || status.conditionalUpdateRisks?.length === 0) delete status.conditionalUpdateRisks;
  return { status, invalid, risks, changesAtMs: reading?.changesAtMs };
}

const copyOf = (releases: readonly Release[] | null): Release[] | null => (releases === null ? null : [...releases]);
const conditionalOf = ({ conditional, risks = [] }: ListedUpdates) => ({
  ...(conditional.length > 0 && { conditionalUpdates: [...conditional] }),
  conditionalUpdateRisks: [...risks],
});

function knownReleases(stored: ClusterVersionStatus | undefined, updates: KnownUpdates | undefined): Release[] {
  const available = updates ? updates.available : stored?.availableUpdates;
  const conditional = updates ? updates.conditional : stored?.conditionalUpdates;
  return [...(updates?.current ? [updates.current] : []), ...(available ?? []), ...(conditional ?? []).map(({ release }) => release)];
}

function readingOf({ status }: ClusterVersion, work: WorkReport, nowMs: number): FailureReading | undefined {
  const { failure, reconciling, operatorStarts, failingSinceMs } = work;
  if (failure === undefined) return undefined;
  const hasHistory = work.release.image !== '' || (status?.history ?? []).length > 0;
  return readFailure(failure, { reconciling, hasHistory, operatorStarts, failingSinceMs, nowMs });
}

interface WorkContext {
  readonly object: ClusterVersion;
  readonly work: WorkReport;
  readonly reading: FailureReading | undefined;
  readonly release: string;
  readonly invalid: readonly FieldError[];
}

function workVerdicts({ object, work, reading, release, invalid }: WorkContext): Verdict[] {
  const { failure, acceptance, capabilities } = work;
  return [
    ...availableVerdict(object, work, release),
    reading?.failing ?? { type: 'Failing', status: 'False' },
    progressOf({ ...work, release, isInvalid: invalid.length > 0, failure: failure && reading && { error: failure, reading } }),
    capabilitiesVerdict(capabilities),
    ...(acceptance ? [acceptedOf(acceptance)] : []),
  ];
}

/** Once a release is applied a cluster stays available: whether its parts are, their operators say. */
function availableVerdict({ status }: ClusterVersion, { completed }: WorkReport, release: string): Verdict[] {
  if (completed) return [{ type: 'Available', status: 'True', message: `Done applying ${release}` }];
  return findCondition(status?.conditions, 'Available') ? [] : [{ type: 'Available', status: 'False' }];
}

function capabilitiesVerdict({ implicit }: EnabledCapabilities): Verdict {
  const type = 'ImplicitlyEnabledCapabilities';
  if (implicit.length === 0) return { type, status: 'False', reason: 'AsExpected', message: 'Capabilities match configured spec' };
  const names = implicit.toSorted().join(', ');
  return {
    type,
    status: 'True',
    reason: 'CapabilitiesImplicitlyEnabled',
    message: `The following capabilities could not be disabled: ${names}`,
  };
}

function invalidVerdict(invalid: readonly FieldError[]): Verdict[] {
  if (invalid.length === 0) return [];
  const [first] = invalid;
  const text = invalid.length === 1 ? ` ${first?.message}` : `${invalid.map(({ message }) => `\n* ${message}`).join('')}\n`;
  return [{ type: 'Invalid', status: 'True', reason: 'InvalidClusterVersion', message: `The cluster version is invalid:${text}` }];
}

function updateVerdicts({ status }: ClusterVersion, updates: KnownUpdates | undefined): Verdict[] {
  if (updates) return [updates.retrieved];
  return findCondition(status?.conditions, 'RetrievedUpdates') ? [] : [{ type: 'RetrievedUpdates', status: 'False' }];
}

function risksOf({ object, risks }: ClusterVersionSnapshot, progressing: Verdict | undefined, desired: Release | undefined) {
  if (!risks) return [];
  const stored = findCondition(object.status?.conditions, 'Progressing');
  const overrides = object.spec.overrides ?? [];
  return findUpgradeRisks({ ...risks, progressing: progressing ?? stored, overrides, version: desired?.version ?? '' });
}

/** Fields of the status that the work decides, besides conditions. */
function workFields(stored: ClusterVersionStatus | undefined, work: WorkReport, nowMs: number) {
  const { release, completed, verified, acceptance, capabilities } = work;
  const isAsked = acceptance !== undefined && isSameImage(acceptance.release.image, release.image);
  const acceptedRisks = isAsked && !acceptance.local ? acceptance.acceptedRisks : undefined;
  const { version, image } = release;
  return {
    history: [...historyAfter(stored?.history ?? [], { version, image, completed, verified, acceptedRisks, nowMs })],
    capabilities: { enabledCapabilities: [...capabilities.enabled].toSorted(), knownCapabilities: [...capabilities.known].toSorted() },
  };
}

/** The status of a ClusterVersion whose release cannot be read yet: nothing is known of the cluster but what was stored. */
export function releaseNotReadStatus(
  object: ClusterVersion,
  release: NamedRelease,
  error: UpdateError,
  nowMs: number,
): ClusterVersionStatus {
  const stored = object.status;
  const reason = 'RetrievePayload';
  const verdict: Verdict = { type: 'ReleaseAccepted', status: 'False', reason, message: stepFailedMessage(reason, release, error) };
  return { ...storedFields(stored), conditions: conditionsAfter(stored?.conditions, [verdict], { nowMs }) };
}

/** The stored status, with every field that the kind demands. */
const storedFields = (stored: ClusterVersionStatus | undefined) => ({
  ...stored,
  availableUpdates: stored?.availableUpdates ?? null,
  desired: stored?.desired ?? { version: '', image: '' },
  versionHash: stored?.versionHash ?? '',
  observedGeneration: stored?.observedGeneration ?? 0,
});

/**
 * The status of a ClusterVersion that cannot be reconciled at all: what was said of progress stays true or not, with the error. A cluster that
 * was available stays so, and nothing of a newer generation has taken effect.
 */
export function clusterVersionTrouble(object: ClusterVersion, message: string, nowMs: number): ClusterVersionStatus {
  const stored = object.status;
  const progressing = findCondition(stored?.conditions, 'Progressing')?.status ?? 'False';
  const verdicts: Verdict[] = [
    ...(findCondition(stored?.conditions, 'Available') ? [] : [{ type: 'Available', status: 'False' } as const]),
    { type: 'Failing', status: 'True', message },
    { type: 'Progressing', status: progressing, message: `Error ensuring the cluster version is up to date: ${message}` },
  ];
  return { ...storedFields(stored), conditions: conditionsAfter(stored?.conditions, verdicts, { nowMs }) };
}

/** Digest of a pull spec; undefined for one by tag. */
function digestOf(image: string): string | undefined {
  const at = image.lastIndexOf('@');
  return at < 0 ? undefined : image.slice(at + 1);
}

/** True for two pull specs of one image. */
const isSameImage = (a: string, b: string): boolean => a === b || (digestOf(a) !== undefined && digestOf(a) === digestOf(b));

interface ReleaseVisibility {
  /** Feature gates that are on: the architecture is shown under `ImageStreamImportMode` alone. */
  readonly featureGates: ReadonlySet<string>;
}

/**
 * A release as its payload describes it, with what only update graphs tell.
 * @param known descriptions of releases by update graphs, that of the current one first
 */
function describeRelease(release: Release, known: readonly Release[], { featureGates }: ReleaseVisibility): Release {
  const other = release.image === '' ? undefined : known.find(({ image }) => isSameImage(image, release.image));
  const url = release.url || other?.url;
  const architecture = featureGates.has('ImageStreamImportMode') ? release.architecture || other?.architecture : undefined;
  const channels = release.channels?.length ? release.channels : other?.channels;
  return {
    version: release.version || (other?.version ?? ''),
    image: release.image,
    ...(url && { url }),
    ...(architecture && { architecture }),
    ...(channels?.length && { channels: [...channels] }),
  };
}
