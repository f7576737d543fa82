import type { PayloadState } from '../graph/plan.ts';
import { UpdateError, type UpdateErrorParts } from '../graph/update-error.ts';
import type { Json } from '../json-values.ts';

/** Facts of a cluster that builders put into the objects of a payload. */
export interface BuildContext {
  /** uid of the ClusterVersion, which owns what is applied; absent where nobody is to own it. */
  readonly ownerUid?: string;
  /** Proxies of `Proxy/cluster`; absent where it has none. */
  readonly proxy?: { readonly httpProxy: string; readonly httpsProxy: string; readonly noProxy: string };
  /** TLS version and ciphers of the profile of `APIServer/cluster` (`tlsOf`). */
  readonly tls?: { readonly minTLSVersion: string; readonly cipherSuites: readonly string[] };
  /** URL of the API server for components of the cluster, of `Infrastructure/cluster`. */
  readonly apiServerUrl?: string;
}

/** State of an object: a waiting one goes on by itself, a failed one may recover, a reported one holds nothing up. */
export type ObjectVerdict = { readonly is: 'ready' } | { readonly is: 'reported' | 'waiting' | 'failed'; readonly error: UpdateError };

/** Purpose of a pass, which decides about the verdicts on its objects. */
export interface Judging {
  readonly state: PayloadState;
  /** A degraded ClusterOperator holds an update up. */
  readonly degradedBlocks: boolean;
}

/** Rules by which objects of one kind are applied. Pure. */
export interface Builder {
  /** The object as it is created. @throws UpdateError for a manifest that asks for what cannot be */
  readonly build: (manifest: Json, context: BuildContext) => Json;
  /** The object that is to be written over a live one, which has its `managedFields`. @throws UpdateError for what cannot be changed */
  readonly merge: (live: Json, built: Json) => Json;
  /**
   * True when a live object may be what a server makes of the one that would be written: its defaults, quantities and empty values are no
   * difference. A server alone can tell; this counts where it has not been asked, or refuses to answer.
   */
  readonly resembles: (live: Json, next: Json) => boolean;
  /** Judges the live object. Absent: it is ready as soon as it is there. */
  readonly judge?: (live: Json, judging: Judging) => ObjectVerdict;
}

/** The object is as it should be. */
export const ready: ObjectVerdict = { is: 'ready' };

/** The object goes on by itself. */
export const waiting = (parts: UpdateErrorParts): ObjectVerdict => ({
  is: 'waiting',
  error: new UpdateError({ ...parts, effect: 'None' }),
});

/** The object is not as it should be, and may recover. */
export const failed = (parts: UpdateErrorParts): ObjectVerdict => ({ is: 'failed', error: new UpdateError(parts) });
