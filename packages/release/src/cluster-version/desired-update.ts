import type { ClusterVersion, Release } from '@flotilla/api/config';

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
export const updatesTo = (updates: readonly Release[], version: string): readonly Release[] =>
  updates.filter((update) => update.version === version && update.image !== '');
