import { isJsonObject } from '@flotilla/api';
import { isKind, type PolicyObject } from '../policies/policy-structure.ts';
import { quote } from '../values/formats.ts';

/** A policy as far as its software is concerned. */
export interface SoftwarePolicy {
  readonly name: string;
  readonly objects: readonly PolicyObject[];
  /** A text of it that cannot be read, and why. */
  readonly unread?: string | undefined;
}

/** Values in the order they were found, none twice; or what is wrong with one of them. */
export type SoftwareList = { readonly values: string[]; readonly problem?: undefined } | { readonly problem: string };

const OPERATORS = 'operators.coreos.com';

/** `package:channel` of every Subscription the policies want; a package alone where its catalogue's default channel holds. */
export const readPackages = (policies: readonly SoftwarePolicy[], talmStrict = false): SoftwareList =>
  collect(policies, 'Subscription', (spec, field, { ofOperator }) => {
    // Neither is set in an object that only waits for a status or approves something.
    if (!isSet(spec.name) && !isSet(spec.channel)) return undefined;
    const name = field('name', 'overrides.operatorsPackagesAndChannels');
    // One without a catalogue only edits what another policy subscribes to. That of an OperatorPolicy gets both from the package manifest.
    if (!talmStrict && !isSet(spec.channel) && (isSet(spec.source) || ofOperator)) return name;
    const channel = field('channel', 'overrides.operatorsPackagesAndChannels');
    if (name.problem !== undefined) return name;
    return channel.problem !== undefined ? channel : { value: `${name.value}:${channel.value}` };
  });

/** Index image of every CatalogSource the policies want; catalogues that are served from elsewhere have none. */
export const readIndexes = (policies: readonly SoftwarePolicy[]): SoftwareList =>
  collect(policies, 'CatalogSource', (spec, field) => {
    const served = isSet(spec.address) || spec.sourceType === 'configmap' || spec.sourceType === 'internal';
    return served && !isSet(spec.image) ? undefined : field('image', 'overrides.operatorsIndexes');
  });

type Field = { readonly value: string; readonly problem?: undefined } | { readonly problem: string };
type Reader = (
  spec: Readonly<Record<string, unknown>>,
  field: (name: string, override: string) => Field,
  object: PolicyObject,
) => Field | undefined;

function collect(policies: readonly SoftwarePolicy[], kind: string, read: Reader): SoftwareList {
  const values = new Set<string>();
  for (const { name: policy, objects } of policies) {
    for (const object of objects) {
      const spec = object.definition.spec;
      if (object.mustNotHave || !isKind(object, OPERATORS, kind) || !isJsonObject(spec)) continue;
      const where = `${kind}${titleOf(object)} of policy ${policy}`;
      const found = read(spec, (name, override) => readField(object, { name, override, value: spec[name], where }), object);
      if (found?.problem !== undefined) return found;
      if (found) values.add(found.value);
    }
  }
  return { values: [...values] };
}

/** A field that pre-caching needs: set, a text, and known now. */
function readField({ raw }: PolicyObject, at: { name: string; override: string; value: unknown; where: string }): Field {
  const { name, override, value, where } = at;
  if (!isSet(value)) return { problem: `spec.${name} is missing in ${where}; set it, or set ${override} in a PreCachingConfig` };
  if (typeof value !== 'string') return { problem: `spec.${name} is not a text in ${where}; quote it` };
  if (value.includes('{{') || (raw && value.includes('placeholder')))
    return {
      problem: `spec.${name} ${quote(value)} is a template in ${where}, which only the cluster can resolve; set ${override} in a PreCachingConfig`,
    };
  return { value: value.trim() };
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

const titleOf = ({ definition: { metadata } }: PolicyObject): string =>
  isJsonObject(metadata) && typeof metadata.name === 'string' ? ` ${quote(metadata.name)}` : '';

/** Where the platform image of an upgrade comes from, as its policies say (spec/talm 2.6.9). */
export type PlatformImageSource =
  /** No policy sets a ClusterVersion. */
  | { readonly kind: 'none' }
  | { readonly kind: 'image'; readonly image: string }
  /** To be found on an update graph. */
  | { readonly kind: 'graph'; readonly upstream: string; readonly channel: string; readonly version: string }
  /** Named by expressions that only a spoke can resolve. */
  | { readonly kind: 'template' }
  | { readonly kind: 'invalid'; readonly message: string };

/** A release as a policy names it. */
export interface ReleaseQuery {
  /** URL of the update graph, http or https. */
  readonly upstream: string;
  readonly channel: string;
  readonly version: string;
}

/** Present knowledge of a release's image. `pending`: the image is asked for, and the answer wakes the upgrade that looked. */
export type ReleaseLookup =
  | { readonly kind: 'known'; readonly image: string }
  | { readonly kind: 'pending' }
  /** In the reference's words. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

/** Looks a release up without waiting for an answer. */
export type LookUpRelease = (query: ReleaseQuery) => ReleaseLookup;

type VersionField = 'upstream' | 'channel' | 'version' | 'image';

/** Options of `findPlatformImage`. */
export interface PlatformImageOptions {
  /** The image must be known now: expressions are refused. */
  readonly preCaching: boolean;
  /** Asked instead of the upstream that policies name, which may then be absent. Default: none. */
  readonly updateGraphUrl?: string | undefined;
}

/** Text for values that a spoke would have to resolve first. */
const TEMPLATE_WITH_PRECACHING = 'templatized ClusterVersion fields not supported with precaching';

/**
 * Reads every ClusterVersion (group config.openshift.io) that the policies want. Texts are the reference's, its spelling
 * included. A field with an expression left in it (`{{ … }}`) is templated; one of a raw template whose expression was
 * replaced by `placeholder` cannot be judged at all and is refused.
 */
export function findPlatformImage(
  policies: Iterable<{ readonly objects: readonly PolicyObject[] }>,
  options: PlatformImageOptions,
): PlatformImageSource {
  const values: Partial<Record<VersionField, string>> = {};
  let found = false;
  for (const object of [...policies].flatMap(({ objects }) => objects)) {
    if (object.mustNotHave || !isKind(object, 'config.openshift.io', 'ClusterVersion')) continue;
    // One that sets none of these (it only waits for a status, say) asks for no image.
    for (const [field, value] of fieldsOf(object)) {
      found = true;
      if (typeof value !== 'string') return invalid(`ClusterVersion field ${field} is not a text; quote its value`);
      if (object.raw ? value.includes('placeholder') : value === 'placeholder')
        return invalid('templating cluster version fields not supported');
      if (values[field] !== undefined && values[field] !== value)
        return invalid(`platform image defined more then once with conflicting ${field} values`);
      values[field] = value;
    }
  }
  return found ? chooseSource(values, options) : { kind: 'none' };
}

function chooseSource(
  values: Partial<Record<VersionField, string>>,
  { preCaching, updateGraphUrl }: PlatformImageOptions,
): PlatformImageSource {
  const { image, channel, version } = values;
  if (image) {
    if (!image.includes('{{'))
      return /\s/.test(image) ? invalid(`ClusterVersion image ${quote(image)} has a space in it`) : { kind: 'image', image };
    return preCaching ? invalid(TEMPLATE_WITH_PRECACHING) : { kind: 'template' };
  }
  const upstream = updateGraphUrl ?? values.upstream;
  if (!upstream || !channel || !version)
    return invalid('policy with ClusterVersion must have upstream, channel, and version when image is not provided');
  if ([upstream, channel, version].some((value) => value.includes('{{')))
    return preCaching ? invalid(TEMPLATE_WITH_PRECACHING) : { kind: 'template' };
  return { kind: 'graph', upstream, channel, version };
}

const invalid = (message: string): PlatformImageSource => ({ kind: 'invalid', message });

/** Fields that are set; null and empty are as good as absent. */
function fieldsOf({ definition }: PolicyObject): [VersionField, unknown][] {
  const spec = isJsonObject(definition.spec) ? definition.spec : {};
  const desired = isJsonObject(spec.desiredUpdate) ? spec.desiredUpdate : {};
  const fields: [VersionField, unknown][] = [
    ['upstream', spec.upstream],
    ['channel', spec.channel],
    ['version', desired.version],
    ['image', desired.image],
  ];
  return fields.filter(([, value]) => value !== undefined && value !== null && value !== '');
}
