import { createHash } from 'node:crypto';
import { conditionTime } from '@flotilla/api';
import { ClusterVersion } from '@flotilla/api/config';
import type { ReconcileResult } from '@flotilla/runtime';
import type { ActorDeps } from './actor.ts';

/** Release image of a version in simulated clusters. */
export const releaseImage = (version: string): string =>
  `registry.test/openshift/release@sha256:${createHash('sha256').update(version).digest('hex')}`;

/** Versions that each channel offers. */
export type OfferedVersions = Readonly<Record<string, readonly string[]>>;

/**
 * Plays the cluster version operator on one ClusterVersion, as far as an upgrade looks at it (spec/cvo 5): offers what the channel has, goes where it is
 * sent, and says after a while that it is there.
 */
export async function playVersion(deps: ActorDeps, offers: OfferedVersions, name: string): Promise<ReconcileResult> {
  const { client, caches, clock, pace, faults } = deps;
  const version = caches.versions.get({ name });
  if (!version) return {};
  const { spec, status } = version;
  const history = status?.history ?? [];
  const [latest] = history;
  const { desiredUpdate } = spec;
  const wanted = desiredUpdate?.image || (desiredUpdate?.version ? releaseImage(desiredUpdate.version) : undefined);
  // No merge patch: the server takes the null out of the list that one brings, and the field is required.
  const patch = (change: Record<string, unknown>) => {
    const operations = Object.entries(change).map(([field, value]) => ({ op: 'add', path: `/status/${field}`, value }));
    return client.patch(ClusterVersion, { name }, operations, { type: 'json', subresource: 'status' });
  };

  if (wanted !== undefined && wanted !== latest?.image) {
    const target = versionOf(wanted, offers) ?? desiredUpdate?.version ?? '';
    const begun = {
      state: 'Partial',
      startedTime: conditionTime(clock.now()),
      completionTime: null,
      version: target,
      image: wanted,
      verified: false,
    };
    await patch({ desired: { version: target, image: wanted }, history: [begun, ...history] });
    return { requeueAfterMs: pace.controlPlaneMs };
  }
  if (latest?.state === 'Partial') {
    // Times in the status have whole seconds.
    if (faults().controlPlaneHeld || clock.now() - Date.parse(latest.startedTime) < pace.controlPlaneMs)
      return { requeueAfterMs: pace.lookAgainMs };
    await patch({ history: [{ ...latest, state: 'Completed', completionTime: conditionTime(clock.now()) }, ...history.slice(1)] });
    return {};
  }
  const offered = faults().updatesHeld ? [] : (offers[spec.channel ?? ''] ?? []).filter((each) => each !== latest?.version);
  const known = (status?.availableUpdates ?? []).map((release) => release.version);
  if (offered.join() !== known.join())
    await patch({
      availableUpdates: offered.map((each) => ({ version: each, image: releaseImage(each), channels: [spec.channel ?? ''] })),
    });
  return faults().updatesHeld ? { requeueAfterMs: pace.lookAgainMs } : {};
}

const versionOf = (image: string, offers: OfferedVersions): string | undefined =>
  Object.values(offers)
    .flat()
    .find((version) => releaseImage(version) === image);
