import { limitsOf, refKey } from '@flotilla/api';
import type { ConfigMap } from '@flotilla/api/core';
import {
  cutAtWord,
  DEFAULT_SPACE_REQUIRED,
  type PreCachingConfig,
  PreCachingConfigSpec,
  type PrecachingSpec,
  readBandwidth,
  readNodeRules,
} from '@flotilla/api/ran';
import { compileExcludePatterns, isPullSpecShaped, parsePackageChannel, ReleaseError } from '@flotilla/release';
import { parseSpaceRequired, quote } from '../values/formats.ts';
import {
  findPlatformImage,
  type LookUpRelease,
  readIndexes,
  readPackages,
  type SoftwareList,
  type SoftwarePolicy,
} from './policy-software.ts';

/** Inputs that a software spec is derived from. */
export interface SoftwareInput {
  /** Policies to be enforced first, then those complied with before the upgrade. */
  readonly policies: readonly SoftwarePolicy[];
  /** Reference of the spec; a name in it without a `config` means that the PreCachingConfig does not exist. */
  readonly configRef?: { readonly name?: string | undefined } | undefined;
  readonly config?: PreCachingConfig | undefined;
  /** Legacy ConfigMap of overrides. */
  readonly overrides?: ConfigMap | undefined;
  /** Derive as the reference does where we differ (see `derivePrecachingSpec`). */
  readonly talmStrict: boolean;
  /** Images that `overrides.preCacheImage` may name (see `isImageAllowed`). */
  readonly imageAllow: readonly string[];
  /** Asked instead of the upstream that policies name. */
  readonly updateGraphUrl?: string | undefined;
  readonly lookUpRelease: LookUpRelease;
}

/** `reason` and `message` of condition PrecacheSpecValid when there is no spec. */
export interface SoftwareFailure {
  readonly reason: 'PrecacheSpecIncomplete' | 'RetryDiffers';
  readonly message: string;
  /** Nobody needs to edit anything: asking again may help (the update graph did not answer). */
  readonly transient: boolean;
}

/** A spec, complete and consistent, without the fields that are empty; or why there is none, or none yet. */
type SoftwareResult =
  | {
      readonly spec: PrecachingSpec;
      /** Policies from which nothing could be derived, and why. */
      readonly note?: string | undefined;
      readonly failure?: undefined;
    }
  | { readonly failure: SoftwareFailure }
  /** A release is being looked up. */
  | { readonly pending: true; readonly failure?: undefined };

/** Reason and message of PrecacheSpecValid when there is a spec. */
export const PRECACHE_SPEC_VALID = { reason: 'PrecacheSpecIsWellFormed', message: 'Precaching spec is valid and consistent' } as const;

const INCOMPLETE = 'Precaching spec is incomplete';
const CONFIG_FAILED = 'failed to get PreCachingConfig resource due to';
/** The reference says of one that it found and cannot use that it did not get it. */
const unusable = (talmStrict: boolean, problem: string): Incomplete =>
  new Incomplete(`${talmStrict ? CONFIG_FAILED : 'PreCachingConfig cannot be used:'} ${problem}`);
const INCONSISTENT = 'inconsistent precaching configuration';
/** The spec is kept in the status and in a ConfigMap on each spoke: neither may grow without bound. */
const MAX_LENGTH = 128 * 1024;

/** The derivation has to wait for an answer; never leaves this file. */
class Pending extends Error {}

/** Ends a derivation; never leaves this file. */
class Incomplete extends Error {
  readonly transient: boolean;
  constructor(message: string, transient = false) {
    super(message);
    this.transient = transient;
  }
}

/**
 * The images an upgrade needs (spec/talm 3.2, 3.3). Overrides replace, never merge; what is overridden is not derived, so a
 * mistake in it does not matter. Precedence, first that is set:
 *
 * | value                 | 1st                               | 2nd                                     | 3rd      |
 * | platformImage         | PCC overrides.platformImage *     | policies                                |          |
 * | operatorsIndexes      | PCC overrides.operatorsIndexes *  | policies                                |          |
 * | packages and channels | PCC overrides                     | ConfigMap operators.packagesAndChannels | policies |
 * | exclude patterns      | PCC                               | ConfigMap excludePrecachePatterns       | none     |
 * | additional images     | PCC                               | none                                    |          |
 * | space required        | PCC                               | ConfigMap precache.spaceRequired        | 35 GiB ° |
 * | workload image        | PCC overrides.preCacheImage *     | the caller's configuration              |          |
 *
 * `°` for a platform image or additional images; operators alone have no floor, as in the reference's job.
 * `*` ignored with `talmStrict`, as the reference does. Without it, additional images alone are a spec too, and
 * `package: channel` loses its space.
 */
export function derivePrecachingSpec(input: SoftwareInput): SoftwareResult {
  try {
    if (input.configRef?.name && !input.config)
      throw new Incomplete(`${CONFIG_FAILED} PreCachingConfig.ran.openshift.io ${JSON.stringify(input.configRef.name)} not found`);
    checkSize(input.config, input.talmStrict);
    checkAnnotations(input);
    const spec = withoutEmpty(derive(input));
    checkConsistency(spec, input.talmStrict);
    const workloadImage = ownWorkloadImage(input.config, input.talmStrict);
    if (workloadImage) checkWorkloadImage(workloadImage, input.imageAllow);
    const note = describeUnread(input.policies);
    return { spec, ...(note !== undefined && { note }) };
  } catch (error) {
    if (error instanceof Pending) return { pending: true };
    if (!(error instanceof Incomplete)) throw error;
    const note = describeUnread(input.policies);
    const message = `${INCOMPLETE}: ${error.message}${note === undefined ? '' : `; ${note}`}`;
    return { failure: { reason: 'PrecacheSpecIncomplete', message, transient: error.transient } };
  }
}

/** Characters of a condition about policies that could not be read. */
const MAX_NOTE = 1_000;

function describeUnread(policies: readonly SoftwarePolicy[]): string | undefined {
  const unread = policies.flatMap(({ name, unread: why }) => (why === undefined ? [] : [`${name}: ${why}`]));
  return unread.length === 0 ? undefined : cutAtWord(`nothing is derived from what cannot be read: ${unread.join('; ')}`, MAX_NOTE);
}

/** Reads the image of the puller that a PreCachingConfig names instead of the hub's, which may not allow it; undefined: it names none. */
export const ownWorkloadImage = (config: PreCachingConfig | undefined, talmStrict: boolean): string | undefined =>
  (talmStrict ? undefined : config?.spec?.overrides?.preCacheImage?.trim()) || undefined;

function derive(input: SoftwareInput): PrecachingSpec {
  const { policies, talmStrict } = input;
  const config = input.config?.spec ?? {};
  const fromConfig = config.overrides ?? {};
  const legacy = (key: string): string[] => toLines(input.overrides?.data?.[key]);

  const indexes = (talmStrict ? undefined : first(clean(fromConfig.operatorsIndexes))) ?? take(readIndexes(policies));
  const packages =
    first(clean(fromConfig.operatorsPackagesAndChannels)) ??
    first(legacy('operators.packagesAndChannels')) ??
    take(readPackages(policies, talmStrict));
  const spec: PrecachingSpec = {
    platformImage: (talmStrict ? '' : fromConfig.platformImage?.trim()) || platformImageOf(input),
    operatorsIndexes: indexes,
    operatorsPackagesAndChannels: talmStrict ? packages : packages.map(toPackage),
    excludePrecachePatterns: first(clean(config.excludePrecachePatterns)) ?? legacy('excludePrecachePatterns'),
    additionalImages: clean(config.additionalImages),
    spaceRequired: spaceRequiredOf(input),
  };
  // The reference measures no space for operators alone: nobody asked for a floor there.
  if (!talmStrict && !spec.spaceRequired && (spec.platformImage || spec.additionalImages?.length))
    spec.spaceRequired = DEFAULT_SPACE_REQUIRED;
  checkValues(spec);
  return spec;
}

const findExcess = limitsOf(PreCachingConfigSpec);

/** More than the CRD accepts: stored before it had limits, or under another's CRD. */
function checkSize(config: PreCachingConfig | undefined, talmStrict: boolean): void {
  const excess = findExcess(config?.spec);
  if (excess) throw unusable(talmStrict, `${['spec', ...excess.path].join('.')} of ${nameOf(config)} ${excess.message}; shorten it`);
}

/** The reference reads no annotation. */
function checkAnnotations({ config, talmStrict }: SoftwareInput): void {
  if (talmStrict) return;
  const { annotations } = config?.metadata ?? {};
  const problem = readBandwidth(annotations).problem ?? readNodeRules(annotations).problem;
  if (problem !== undefined) throw unusable(talmStrict, `annotation ${problem}`);
}

function platformImageOf(input: SoftwareInput): string {
  const source = findPlatformImage(input.policies, { preCaching: true, updateGraphUrl: input.updateGraphUrl });
  if (source.kind === 'invalid') throw new Incomplete(source.message);
  if (source.kind === 'image') return source.image;
  if (source.kind !== 'graph') return '';
  const release = input.lookUpRelease(source);
  if (release.kind === 'pending') throw new Pending();
  if (release.kind === 'failed') throw new Incomplete(release.message, true);
  return release.image;
}

function spaceRequiredOf({ config, overrides, talmStrict }: SoftwareInput): string | undefined {
  const own = config?.spec?.spaceRequired?.trim();
  const legacy = overrides?.data?.['precache.spaceRequired']?.trim();
  if (!own && !legacy) return talmStrict ? DEFAULT_SPACE_REQUIRED : undefined;
  const field = own ? `spec.spaceRequired of ${nameOf(config)}` : `precache.spaceRequired of ConfigMap ${nameOf(overrides)}`;
  const parsed = parseSpaceRequired(own || legacy || '', field, talmStrict);
  if (parsed.problem !== undefined) throw own || talmStrict ? unusable(talmStrict, parsed.problem) : new Incomplete(parsed.problem);
  return parsed.gib;
}

const nameOf = (object: PreCachingConfig | ConfigMap | undefined): string => (object ? refKey(object.metadata) : 'unknown');

/** Texts of spec/talm 2.3. */
function checkConsistency(spec: PrecachingSpec, talmStrict: boolean): void {
  const indexes = spec.operatorsIndexes?.length ?? 0;
  const packages = spec.operatorsPackagesAndChannels?.length ?? 0;
  if (indexes > 0 && packages === 0) throw new Incomplete(`${INCONSISTENT}: olm index provided, but no packages`);
  const additional = talmStrict ? 0 : (spec.additionalImages?.length ?? 0);
  if (indexes === 0 && !spec.platformImage && additional === 0) throw new Incomplete(`${INCONSISTENT}: no software spec provided`);
}

/** Values become lines of a file on the spoke, where a line break in one would make two of it. Values that every puller refuses are refused here. */
function checkValues(spec: PrecachingSpec): void {
  if (spec.platformImage) checkImage(spec.platformImage, 'platformImage');
  for (const image of spec.operatorsIndexes ?? []) checkImage(image, 'operatorsIndexes');
  for (const image of spec.additionalImages ?? []) checkImage(image, 'additionalImages');
  for (const field of ['operatorsPackagesAndChannels', 'excludePrecachePatterns'] as const) {
    const broken = spec[field]?.find((value) => /[\r\n\0]/.test(value));
    if (broken !== undefined) throw new Incomplete(`${field} entry ${quote(broken)} has a line break; make it two entries`);
  }
  for (const entry of spec.operatorsPackagesAndChannels ?? []) if (!parsePackageChannel(entry)) throw notAPackage(entry);
  const length = JSON.stringify(spec).length;
  if (length > MAX_LENGTH)
    throw new Incomplete(`all values together have ${length} characters; at most ${MAX_LENGTH} are accepted, shorten the lists`);
  checkPatterns(spec.excludePrecachePatterns ?? []);
}

function checkPatterns(patterns: readonly string[]): void {
  try {
    compileExcludePatterns(patterns);
  } catch (error) {
    throw error instanceof ReleaseError ? new Incomplete(error.message) : error;
  }
}

function checkImage(image: string, field: string): void {
  if (!isPullSpecShaped(image))
    throw new Incomplete(`${field} ${quote(image)} is not an image reference; write registry/repository@digest`);
}

/** It runs as root beside the node's runtime: whoever names it owns the nodes. */
function checkWorkloadImage(image: string, allowed: readonly string[]): void {
  checkImage(image, 'overrides.preCacheImage');
  if (!isImageAllowed(image, allowed))
    throw new Incomplete(
      `overrides.preCacheImage ${quote(image)} is not allowed; ${allowedImages(allowed)}, or add it to --precache-image-allow (PRECACHE_IMAGE_ALLOW)`,
    );
}

/** `package:channel`, the way it is looked up in a catalogue; the reference's documents write a space after the colon. */
function toPackage(entry: string): string {
  const [name = '', channel = '', ...rest] = entry.split(':').map((part) => part.trim());
  if (name && channel && rest.length === 0 && !/\s/.test(name + channel)) return `${name}:${channel}`;
  if (name && !entry.includes(':') && !/\s/.test(name)) return name;
  throw notAPackage(entry);
}

const notAPackage = (entry: string): Incomplete =>
  new Incomplete(
    `operatorsPackagesAndChannels entry ${quote(entry)} is not a package and a channel; write package:channel, or package for its default channel`,
  );

function take(list: SoftwareList): string[] {
  if (list.problem !== undefined) throw new Incomplete(list.problem);
  return list.values;
}

/** Nothing is said about what is not needed, as in the reference's status. */
const withoutEmpty = (spec: PrecachingSpec): PrecachingSpec =>
  Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined && value.length > 0));

const first = (values: string[]): string[] | undefined => (values.length > 0 ? values : undefined);

/** Trimmed, without blanks, none twice, in order. */
const clean = (values: readonly string[] | undefined): string[] => [...new Set(values?.map((value) => value.trim()).filter(Boolean))];

const toLines = (text: string | undefined): string[] => clean(text?.split('\n'));

/** `registry/repository` of an image reference, without tag and digest. */
export function repositoryOf(image: string): string {
  const [name = ''] = image.split('@', 1);
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  return colon === -1 ? name : name.slice(0, colon);
}

/**
 * True when an entry of the list allows the image to run on spokes as root beside the runtime's socket. An entry is a digest (`sha256:…`), a whole
 * reference with tag or digest, or a prefix that ends where a part of the name does. `registry/team` allows `registry/team/puller:1`, not
 * `registry/teammate/puller`.
 */
export function isImageAllowed(image: string, allowed: readonly string[]): boolean {
  const repository = repositoryOf(image);
  return allowed.some((entry) => {
    if (/^sha256:[0-9a-f]{64}$/.test(entry)) return image.endsWith(`@${entry}`);
    const prefix = entry.replace(/(?<!\/)\/+$/, '');
    return prefix !== '' && (image === prefix || repository === prefix || repository.startsWith(`${prefix}/`));
  });
}

/** The list as a sentence has it. */
const allowedImages = (allowed: readonly string[]): string =>
  allowed.length > 0 ? `the hub allows ${allowed.join(', ')}: name one of these` : 'the hub allows none: leave it out';
