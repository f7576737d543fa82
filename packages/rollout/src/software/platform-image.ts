import { isJsonObject } from '@flotilla/api';
import { isKind, type PolicyObject } from '../policies/policy-structure.ts';
import { quote } from '../values/go-format.ts';

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

type Field = 'upstream' | 'channel' | 'version' | 'image';

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
  const values: Partial<Record<Field, string>> = {};
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

function chooseSource(values: Partial<Record<Field, string>>, { preCaching, updateGraphUrl }: PlatformImageOptions): PlatformImageSource {
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
function fieldsOf({ definition }: PolicyObject): [Field, unknown][] {
  const spec = isJsonObject(definition.spec) ? definition.spec : {};
  const desired = isJsonObject(spec.desiredUpdate) ? spec.desiredUpdate : {};
  const fields: [Field, unknown][] = [
    ['upstream', spec.upstream],
    ['channel', spec.channel],
    ['version', desired.version],
    ['image', desired.image],
  ];
  return fields.filter(([, value]) => value !== undefined && value !== null && value !== '');
}
