import type { ProxySettings, RetryPolicy } from '@flotilla/http';
import type { Clock } from '@flotilla/pace';
import type { StallLimits } from './body.ts';
import type { DockerConfig } from './credentials.ts';
import type { RegistryRule } from './endpoint.ts';
import type { HostTls, Timeouts } from './transport.ts';

/** Options of a RegistryClient; all are optional. */
export interface RegistryClientOptions {
  /** Pull secret; default none. */
  credentials?: DockerConfig;
  /** Mirrors, other locations and blocks; default none. */
  rules?: readonly RegistryRule[];
  /** PEM certificates trusted besides the system's. */
  ca?: string | undefined;
  /** TLS by `host[:port]`. */
  hostTls?: ReadonlyMap<string, HostTls>;
  /** Default: no proxy; the environment is not read. */
  proxy?: ProxySettings;
  /** Servers that use plain HTTP, as `host[:port]`. */
  insecureHosts?: readonly string[];
  /** Default `flotilla`. */
  userAgent?: string;
  timeouts?: Partial<Timeouts>;
  /** Default: five tries over about eight seconds. A `Retry-After` over its longest wait is thrown at once. */
  retry?: Partial<RetryPolicy>;
  /** Default: 16 KiB in 60 s. */
  stall?: StallLimits;
  /** Bound of everything that is read; default none. */
  bandwidth?: Bandwidth;
  /** Default: the system's. */
  clock?: Clock;
  /** In [0, 1); default `Math.random`. */
  random?: () => number;
}

/** A bound of the bytes that are read. */
export interface Bandwidth {
  /**
   * Waits until bytes may be asked for, and returns how many, at most these: the next range. Each is waited for before it is asked, so that nothing runs
   * ahead in buffers.
   */
  take(bytes: number, signal?: AbortSignal): Promise<number>;
}

/** Ranges of a blob. */
export interface BlobRanges {
  /** Bytes of one range; a smaller bound of the client counts. */
  readonly bytes: number;
  /** Called before each range is asked for, when all earlier bytes are read; an exception of it ends the stream. */
  readonly before: () => Promise<void>;
}
