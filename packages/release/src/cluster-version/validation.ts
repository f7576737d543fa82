import type { ClusterVersion, ClusterVersionSpec, Release } from '@flotilla/api/config';
import { parseVersion } from '../semantic-version.ts';

/** A field that is wrong. */
export interface FieldError {
  readonly field: string;
  /** Field, value and what is expected, as API servers write it. */
  readonly message: string;
}

interface ValidationContext {
  readonly featureGates: ReadonlySet<string>;
}

type Check = (object: ClusterVersion, context: ValidationContext) => FieldError | undefined;

const invalid = (field: string, value: string, expected: string): FieldError => ({
  field,
  message: `${field}: Invalid value: ${JSON.stringify(value)}: ${expected}`,
});

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{12}$/i;

const checks: readonly Check[] = [
  ({ metadata: { name } }) =>
    /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(name) && name.length <= 63
      ? undefined
      : invalid(
          'metadata.name',
          name,
          "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        ),
  ({ spec: { upstream = '' } }) =>
    upstream === '' || isUrl(upstream) ? undefined : invalid('spec.upstream', upstream, 'must be a valid URL or empty'),
  ({ spec: { clusterID } }) => {
    if (clusterID === '') return undefined;
    const [, version = '', variant = ''] = UUID.exec(clusterID) ?? [];
    if (!/^[89ab]$/i.test(variant)) return invalid('spec.clusterID', clusterID, 'must be an RFC4122-variant UUID');
    return version === '4' ? undefined : invalid('spec.clusterID', clusterID, 'must be a version-4 UUID');
  },
  ({ spec: { desiredUpdate } }, { featureGates }) =>
    desiredUpdate?.acceptRisks?.length && !featureGates.has('ClusterUpdateAcceptRisks')
      ? { field: 'spec.desiredUpdate.acceptRisks', message: 'spec.desiredUpdate.acceptRisks: Forbidden: acceptRisks must not be specified' }
      : undefined,
  ({ spec: { desiredUpdate } }, { featureGates }) => {
    if (!desiredUpdate) return undefined;
    const takesRisks = featureGates.has('ClusterUpdateAcceptRisks');
    const { architecture, version, image, acceptRisks } = desiredUpdate;
    if (architecture || version || image || (takesRisks && acceptRisks?.length)) return undefined;
    const expected = takesRisks
      ? 'must specify architecture, version, image, or acceptRisks'
      : 'must specify architecture, version, or image';
    return { field: 'spec.desiredUpdate', message: `spec.desiredUpdate: Required value: ${expected}` };
  },
  desiredVersion,
];

function desiredVersion({ spec, status }: ClusterVersion): FieldError | undefined {
  const { version = '', image = '' } = spec.desiredUpdate ?? {};
  const refuse = (expected: string) => invalid('spec.desiredUpdate.version', version, expected);
  if (version === '') return undefined;
  if (!parseVersion(version)) return refuse('must be a semantic version (1.2.3[-...])');
  if (image !== '') return undefined;
  const payloads = updatesTo(status?.availableUpdates ?? [], version).length;
  if (payloads > 1) return refuse('there are multiple possible payloads for this version, specify the exact image');
  const wasThere = status?.history?.some((entry) => entry.version === version && entry.image !== '');
  return payloads === 1 || wasThere ? undefined : refuse('when image is empty the update must be an available update');
}

/** True for a text that may be requested as a URL: it parses, and has no blanks and control characters. */
function isUrl(text: string): boolean {
  return URL.canParse(text) && !/[\s\p{Cc}]/u.test(text);
}

/** Finds the wrong fields of a ClusterVersion (spec/cvo 5.9), in the order of the checks. */
export const validateClusterVersion = (object: ClusterVersion, context: ValidationContext): readonly FieldError[] =>
  checks.flatMap((check) => check(object, context) ?? []);

/** The object without the values that are wrong: the rest of it still counts. */
export function withoutInvalid(object: ClusterVersion, errors: readonly FieldError[]): ClusterVersion {
  const has = (field: string) => errors.some((error) => error.field === field);
  const spec: ClusterVersionSpec = { ...object.spec };
  if (has('spec.upstream')) delete spec.upstream;
  if (has('spec.clusterID')) spec.clusterID = '';
  if (errors.some(({ field }) => field.startsWith('spec.desiredUpdate.'))) delete spec.desiredUpdate;
  return { ...object, spec };
}

/** A release that is asked for. */
export interface WantedRelease {
  /** Empty where only an image is asked for: the payload says it. */
  readonly version: string;
  readonly image: string;
  /** Refusals of preconditions and of verification do not stop it. */
  readonly force: boolean;
}

type Asked = Pick<ClusterVersion, 'spec' | 'status'>;

/**
 * The release that `spec.desiredUpdate` asks for (spec/cvo 5.8). Undefined where it asks for none that can be found: the cluster then stays
 * where it is. An image is taken as it is; a version must be among the available updates, or the one the cluster is at.
 */
export function resolveDesiredUpdate({ spec, status }: Asked, running: Pick<Release, 'architecture'> = {}): WantedRelease | undefined {
  const { desiredUpdate } = spec;
  if (!desiredUpdate) return undefined;
  const { image = '', force = false, architecture } = desiredUpdate;
  if (image !== '') return { version: desiredUpdate.version ?? '', image, force };
  const isMigration = architecture === 'Multi' && running.architecture !== 'Multi';
  const version = isMigration ? status?.desired?.version : desiredUpdate.version;
  if (!version) return undefined;
  const found = updatesTo(status?.availableUpdates ?? [], version)[0] ?? (isMigration ? undefined : currentOf(status, version));
  return found && { version: found.version, image: found.image, force };
}

/** The release the cluster is being taken to, or is at. Graphs do not offer it to itself, and a restarted operator has to know it. */
function currentOf(status: Asked['status'], version: string): Release | undefined {
  const { desired } = status ?? {};
  return desired?.version === version && desired.image !== '' ? desired : undefined;
}

/** Available updates to a version that name an image. */
const updatesTo = (updates: readonly Release[], version: string): readonly Release[] =>
  updates.filter((update) => update.version === version && update.image !== '');
