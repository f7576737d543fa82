import { type KubeObject, Label, type Resource } from '@flotilla/api';
import { ManifestWork } from '@flotilla/api/ocm';
import type { Client } from '@flotilla/runtime';
import { applyWrites, type Ownership, type Write } from '../../writes/apply.ts';
import type { SpokeJobCaches } from './caches.ts';
import type { ObjectPlace } from './port.ts';

/** What applying a plan for a spoke needs. */
export interface ApplyPlanDeps {
  readonly client: Client;
  readonly caches: Pick<SpokeJobCaches, 'views' | 'actions' | 'jobWorks'>;
  /** Nothing more is written once it aborts. */
  readonly signal: AbortSignal;
}

/** Makes the writes that one spoke's part of an upgrade is missing. Idempotent; safe to stop anywhere. */
export async function applySpokePlan(
  { writes }: { readonly writes: readonly Write[] },
  place: Pick<ObjectPlace, 'job' | 'upgrade'>,
  { client, caches, signal }: ApplyPlanDeps,
): Promise<void> {
  const { views, actions, jobWorks } = caches;
  const judge = (existing: KubeObject, kind: Resource) => judgeOwner(existing, kind, place);
  await applyWrites(writes, { client, signal, caches: [views, actions, jobWorks], judge });
}

/** Another program's object proves nothing and is replaced; another upgrade's work is seen by the watch. */
function judgeOwner({ metadata }: KubeObject, kind: Resource, { job, upgrade }: Pick<ObjectPlace, 'job' | 'upgrade'>): Ownership {
  const isOurs = kind === ManifestWork ? metadata.labels?.[Label.work] === job.work : metadata.labels?.[Label.upgradeUid] === upgrade.uid;
  return isOurs ? 'ours' : 'leftover';
}
