import type { ClusterVersion } from '@flotilla/api/config';
import { type EnabledCapabilities, unfoundUpdate, type WorkReport } from '@flotilla/release';
import type { PayloadWorker } from '../../apply/worker.ts';
import type { LoadedRelease } from '../../payload/release.ts';
import type { ReleaseTaker } from '../../payload/release-taker.ts';
import { planCapabilities, planRelease, planWork } from './plan.ts';

/** Dependencies of applying a ClusterVersion. */
export interface VersionActors {
  readonly worker: PayloadWorker;
  readonly taker: ReleaseTaker;
  readonly alwaysEnabled: readonly string[];
  /** True when the release may consist of other manifests than were applied of it. */
  readonly isChanged: boolean;
}

/**
 * Has the release taken that is asked for, and applies the one that is.
 * @returns how far that is; the generation counts once the release that it asks for is the one that is applied
 */
export function applyVersion(object: ClusterVersion, { worker, taker, alwaysEnabled, isChanged }: VersionActors): WorkReport {
  const isInstalling = worker.state === 'initializing';
  const wanted = planRelease(object, taker.taken, isInstalling);
  taker.want(wanted);
  const { taken, acceptance } = taker;
  const before = worker.work;
  const capabilities = planCapabilities(object, taken, { always: alwaysEnabled, before });
  if (mayApply(object, taken, wanted?.image, before !== undefined)) worker.take(planWork(object, taken, capabilities, isChanged));
  const report = worker.report() ?? idle(object, taken, capabilities);
  const unfound = isInstalling ? undefined : unfoundUpdate(object, wanted);
  const isInForce = !unfound && (wanted === undefined || wanted.image === taken.release.image);
  const generation = isInForce ? report.generation : (object.status?.observedGeneration ?? 0);
  return { ...report, generation, acceptance: unfound ?? acceptance };
}

/**
 * True when the release at hand may be applied although another is asked for.
 * An operator that starts anew does not take a cluster back to the release it was given.
 */
function mayApply(
  { status }: ClusterVersion,
  { release: { image } }: LoadedRelease,
  wanted: string | undefined,
  hasWork: boolean,
): boolean {
  const [newest] = status?.history ?? [];
  return hasWork || wanted === undefined || wanted === image || newest === undefined || newest.image === image;
}

function idle(
  { status, metadata }: ClusterVersion,
  { featureGates }: LoadedRelease,
  capabilities: EnabledCapabilities,
): Omit<WorkReport, 'acceptance'> {
  return {
    generation: metadata.generation ?? 0,
    done: 0,
    total: 0,
    completed: false,
    reconciling: status?.history?.[0]?.state === 'Completed',
    release: status?.desired ?? { version: '', image: '' },
    versionHash: '',
    verified: false,
    capabilities,
    featureGates,
    operatorStarts: new Map(),
  };
}
