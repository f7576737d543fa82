import { type KubeObject, Label, type Resource } from '@flotilla/api';
import { ManifestWork } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import type { SpokeJobCaches } from '../../../caches.ts';
import { applyWrites, type Ownership, type Write } from '../../../writes/apply.ts';
import type { ObjectPlace } from './port.ts';

/** Dependencies of `applySpokePlan`. */
export interface ApplyPlanDeps {
  readonly client: Client;
  readonly caches: Pick<SpokeJobCaches, 'views' | 'actions' | 'works'> & Partial<Pick<SpokeJobCaches, 'clusters'>>;
  /** Stops further writes. */
  readonly signal: AbortSignal;
}

/** Applies the writes of one spoke's part of an upgrade. Idempotent; safe to stop anywhere. */
export async function applySpokePlan(
  { writes }: { readonly writes: readonly Write[] },
  place: Pick<ObjectPlace, 'job' | 'upgrade'>,
  { client, caches, signal }: ApplyPlanDeps,
): Promise<void> {
  const { views, actions, works, clusters } = caches;
  const decide = (existing: KubeObject, kind: Resource) => decideOwner(existing, kind, place);
  await applyWrites(writes, { client, signal, caches: [views, actions, works, ...(clusters ? [clusters] : [])], decideOwner: decide });
}

/** Another program's object proves nothing and is replaced; the watch reports another upgrade's work. */
function decideOwner({ metadata }: KubeObject, kind: Resource, { job, upgrade }: Pick<ObjectPlace, 'job' | 'upgrade'>): Ownership {
  const isOurs = kind === ManifestWork ? metadata.labels?.[Label.work] === job.work : metadata.labels?.[Label.upgradeUid] === upgrade.uid;
  return isOurs ? 'ours' : 'leftover';
}
