import { isFinalPrecacheState, type PrecacheProgress, type PrecacheState, type PrecachingSpec } from '@flotilla/api';
import type { UpgradeIdentity } from './hub-objects.ts';
import type { JobProfile } from './workload-inputs.ts';

/** What the reconciler wants pre-cached, from one pass over one upgrade. */
export interface RunRequest {
  readonly upgrade: UpgradeIdentity;
  /** Spokes of the remediation plan, and those whose pre-caching has begun. */
  readonly clusters: readonly string[];
  /** States in the upgrade's status, as the API server has them. */
  readonly stored: Readonly<Record<string, PrecacheState>>;
  readonly spec: PrecachingSpec;
  /** Image of the puller. */
  readonly image: string;
  readonly profile: JobProfile;
  /** Seconds a spoke's job may run. */
  readonly jobSeconds: number;
}

/** One spoke of a run, as this process knows it. */
export interface SpokeRecord {
  state: PrecacheState;
  stored: PrecacheState | undefined;
  message: string | undefined;
  progress: PrecacheProgress | undefined;
}

/** One upgrade that is pre-caching. Nothing in it that cannot be had again from the API server. */
export class PrecacheRun {
  request: RunRequest;
  readonly spokes = new Map<string, SpokeRecord>();

  constructor(request: RunRequest) {
    this.request = request;
    this.take(request);
  }

  /** Takes over a newer request; spokes already under way keep what they know. Returns those that need a look: new ones, and those whose verdict is stored. */
  take(request: RunRequest): string[] {
    this.request = request;
    const changed: string[] = [];
    for (const cluster of request.clusters) {
      const stored = request.stored[cluster];
      const record = this.spokes.get(cluster);
      if (!record) this.spokes.set(cluster, { state: stored ?? 'NotStarted', stored, message: undefined, progress: undefined });
      if (!record || (stored !== undefined && record.stored !== stored && isFinalPrecacheState(stored))) changed.push(cluster);
      if (record) record.stored = stored;
    }
    return changed;
  }

  /** Spokes that have no job yet. */
  countBeginning(): number {
    let count = 0;
    for (const { state } of this.spokes.values()) if (state === 'NotStarted' || state === 'PreparingToStart') count += 1;
    return count;
  }

  /** True when every spoke has its verdict, and the verdict is in the status. */
  isSettled(): boolean {
    return [...this.spokes.values()].every(({ state, stored }) => isFinalPrecacheState(state) && stored === state);
  }

  /** True while the spoke is being worked on: no other upgrade may touch it. */
  isUnderWay(cluster: string): boolean {
    const state = this.spokes.get(cluster)?.state ?? 'NotStarted';
    return state !== 'NotStarted' && !isFinalPrecacheState(state);
  }
}
