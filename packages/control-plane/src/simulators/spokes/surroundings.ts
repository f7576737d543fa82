import type { AgentEvent, WorkCadence } from '@flotilla/agent';
import type { ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import type { ServedResource } from '@flotilla/runtime';
import type { HubWriter } from '../hub-writer.ts';
import type { TimerHeap } from '../timer-heap.ts';
import type { JobShape, SpokeFaults, WorkShape } from './faults.ts';
import type { SpokeServer } from './spoke-server.ts';
import type { SpokeStore } from './spoke-store.ts';

/** Parts that all spokes of a run share. */
export interface SpokeSurroundings {
  readonly timers: TimerHeap;
  readonly writer: HubWriter;
  readonly seed: number;
  readonly kinds: readonly ServedResource[];
  readonly job: JobShape;
  readonly work: WorkShape;
  readonly workCadence: WorkCadence | undefined;
  /** The agent knows `feedbackScrapeType: Watch`, as the stock one does in its later releases; default true. */
  readonly workWatches: boolean | undefined;
  /** ClusterRole of the account that the agent makes for Job `pre-cache`; undefined: it makes none. */
  readonly pullerRole: string | undefined;
  readonly executeLatencyMs: number;
  readonly namespaceDeletionMs: number;
  readonly getAction: (namespace: string, name: string) => ManagedClusterAction | undefined;
  readonly getView: (namespace: string, name: string) => ManagedClusterView | undefined;
  readonly getWork: (namespace: string, name: string) => ManifestWork | undefined;
  /** An error nobody expects; the run goes on. */
  readonly onError: (error: unknown, spoke: string) => void;
}

/** One spoke, as the parts of its agent have it. */
export interface AgentPart {
  /** Name, and namespace on the hub. */
  readonly spoke: string;
  readonly store: SpokeStore;
  /** Where works go for what is there. */
  readonly server: SpokeServer | undefined;
  readonly around: SpokeSurroundings;
  readonly random: () => number;
  readonly latencyMs: () => number;
  readonly faults: () => SpokeFaults;
  /** The view that was to be lost is. */
  readonly onLost: () => void;
  readonly onEvent: (type: AgentEvent, name: string) => void;
  readonly onError: (error: unknown) => void;
}
