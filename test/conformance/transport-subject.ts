import type { KubeObject, Ref, Resource } from '@flotilla/api';
import type { Client } from '@flotilla/runtime';

/** A spoke seen from beside its agent: what really is there, and a hand that changes it. */
export interface SpokeObserver {
  get(kind: Resource, ref: Ref): Promise<KubeObject | undefined>;
  create(kind: Resource, object: KubeObject): Promise<void>;
  /** Merge patch. */
  patch(kind: Resource, ref: Ref, patch: Record<string, unknown>): Promise<void>;
  delete(kind: Resource, ref: Ref): Promise<void>;
  /** What a controller on the spoke writes into `status`. */
  setStatus(kind: Resource, ref: Ref, status: Record<string, unknown>): Promise<void>;
}

/** One agent with its hub and its spoke, ready to be asked. */
export interface TransportSubject extends AsyncDisposable {
  readonly hub: Client;
  /** The spoke's namespace on the hub. */
  readonly cluster: string;
  readonly spoke: SpokeObserver;
  /** The agent dies without a word. */
  stopAgent(): Promise<void>;
  /** A new agent comes up and watches. */
  startAgent(): Promise<void>;
  /** How many creations of ConfigMaps the spoke itself refused so far. */
  refusedCreates(): Promise<number>;
}
