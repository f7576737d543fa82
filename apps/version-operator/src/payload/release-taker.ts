import { errorMessage } from '@flotilla/api';
import type { ClusterVersion } from '@flotilla/api/config';
import {
  ACCEPT_RISKS,
  type Acceptance,
  type AcceptanceEvent,
  type AcceptanceStep,
  acceptedExposure,
  acceptedRisksOf,
  checkPreconditions,
  loadedEvent,
  loadedMessage,
  type PayloadFile,
  preconditionsEvent,
  stepEvent,
  stepFailedEvent,
  stepFailedMessage,
  stepMessage,
  summarizePreconditions,
  UpdateError,
  type WantedRelease,
  wrongVersionMessage,
} from '@flotilla/release';
import type { Clock, Logger } from '@flotilla/runtime';
import { type LoadedRelease, type ReadRelease, readRelease } from './release.ts';
import type { ReleaseSource } from './retrieve-release.ts';

interface TakerOptions {
  readonly source: ReleaseSource;
  /** Settings by which a release is read for this cluster, now. */
  readonly reading: () => Pick<ReadRelease, 'profile' | 'featureSet' | 'gatesOf' | 'excludeIdentifier'>;
  /** As it counts when it is asked for: a download takes minutes. Undefined where it is gone. */
  readonly clusterVersion: () => ClusterVersion | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly tell: (event: AcceptanceEvent) => void;
  readonly onProgress: () => void;
}

/** A refused release is asked for again after so long, milliseconds. */
const AGAIN_MS = 60_000;

interface Taking {
  readonly key: string;
  readonly ended: AbortController;
  endedAtMs?: number;
}

/**
 * Takes releases that are asked for: fetches, reads and checks them. Until one is taken, the one before counts. A cluster that is sent back to
 * the release which the operator began with is checked too: that one is at hand alone.
 */
export class ReleaseTaker {
  readonly #options: TakerOptions;
  #taken: LoadedRelease;
  #acceptance: Acceptance;
  #taking: Taking | undefined;
  readonly #own: LoadedRelease;

  /** @param own the release the operator itself is of */
  constructor(own: LoadedRelease, options: TakerOptions) {
    this.#options = options;
    this.#own = own;
    this.#taken = own;
    this.#acceptance = loaded(own);
    options.tell(loadedEvent(own.release, own.release.architecture ?? architectureOf(process.arch)));
  }

  get taken(): LoadedRelease {
    return this.#taken;
  }

  get acceptance(): Acceptance {
    return this.#acceptance;
  }

  /** Time until the refused release is looked at again, milliseconds. */
  get againInMs(): number | undefined {
    const at = this.#taking?.endedAtMs;
    return at === undefined ? undefined : this.#pauseLeft(at);
  }

  /** Milliseconds until a release is taken again. An end to come predates a step back of the clock. */
  #pauseLeft(endedAtMs: number): number {
    const now = this.#options.clock.now();
    return endedAtMs > now ? 0 : Math.max(0, endedAtMs + AGAIN_MS - now);
  }

  /** Asks for a release; without one, for that which is applied. Returns at once. */
  want(wanted: WantedRelease | undefined): void {
    if (!wanted || wanted.image === this.#taken.release.image) {
      this.#stop();
      // one that was refused is no longer asked for
      if (this.#acceptance.release.image !== this.#taken.release.image)
        this.#acceptance = { ...loaded(this.#taken), message: loadedMessage(this.#taken.release) };
      return;
    }
    const key = JSON.stringify([wanted.image, wanted.version, wanted.force]);
    const isOver = this.#taking?.endedAtMs !== undefined && this.#pauseLeft(this.#taking.endedAtMs) === 0;
    if (this.#taking?.key === key && !isOver) return;
    this.#stop();
    const taking: Taking = { key, ended: new AbortController() };
    this.#taking = taking;
    void this.#take(wanted, taking);
  }

  #stop(): void {
    this.#taking?.ended.abort();
    this.#taking = undefined;
  }

  async #take(wanted: WantedRelease, taking: Taking): Promise<void> {
    const { tell, onProgress, logger } = this.#options;
    const named = { version: wanted.version, image: wanted.image };
    const isOwn = wanted.image === this.#own.release.image;
    let step: AcceptanceStep = 'RetrievePayload';
    const acceptance = (changes: Partial<Acceptance>): Acceptance => ({
      step,
      message: stepMessage(step, named),
      failed: false,
      release: named,
      local: false,
      verified: false,
      acceptedRisks: '',
      ...changes,
    });
    const begin = (next: AcceptanceStep): void => {
      step = next;
      if (taking.ended.signal.aborted) throw taking.ended.signal.reason;
      this.#acceptance = acceptance({});
      const event = stepEvent(next, named);
      if (event) tell(event);
      onProgress();
    };
    try {
      const release = isOwn ? { release: this.#own, risks: '' } : await this.#load(wanted, taking, begin);
      begin('VerifyPayloadVersion');
      const { version } = release.release.release;
      if (wanted.version !== '' && wanted.version !== version)
        throw new UpdateError({ reason: 'VerifyPayloadVersionFailed', message: wrongVersionMessage(version, wanted.version) });
      begin('PreconditionChecks');
      const clusterVersion = this.#options.clusterVersion();
      // nobody asks any more; one that comes back does so anew
      if (!clusterVersion) return this.#stop();
      const { error, acceptedRisks = '' } = summarizePreconditions(checkPreconditions({ clusterVersion, target: version }), wanted.force);
      if (error) throw error;
      if (taking.ended.signal.aborted) return;
      tell(preconditionsEvent({ version, image: wanted.image }, acceptedRisks));
      const exposed = this.#taken.featureGates.has(ACCEPT_RISKS) ? acceptedExposure(clusterVersion, wanted.image) : undefined;
      this.#taken = release.release;
      this.#taking = undefined;
      const risks = acceptedRisksOf([release.risks, acceptedRisks], exposed);
      this.#acceptance = { ...loaded(release.release), local: false, acceptedRisks: risks };
      tell(loadedEvent(this.#taken.release, this.#taken.release.architecture ?? architectureOf(process.arch)));
      onProgress();
    } catch (cause) {
      if (taking.ended.signal.aborted) return;
      const error =
        cause instanceof UpdateError ? cause : new UpdateError({ reason: 'UpdatePayloadIntegrity', message: errorMessage(cause), cause });
      logger.warn({ err: error, release: wanted.image, step }, 'A release was not taken');
      this.#acceptance = acceptance({ failed: true, message: stepFailedMessage(step, named, error) });
      taking.endedAtMs = this.#options.clock.now();
      tell(stepFailedEvent(step, named, error));
      onProgress();
    }
  }

  async #load(wanted: WantedRelease, taking: Taking, begin: (step: AcceptanceStep) => void) {
    const { source, reading } = this.#options;
    const signal = AbortSignal.any([this.#options.signal, taking.ended.signal]);
    begin('RetrievePayload');
    const { files, verified, acceptedRisks } = await source.retrieve(wanted, signal);
    begin('LoadPayload');
    const release = await readRelease(files as AsyncIterable<PayloadFile>, {
      ...reading(),
      image: wanted.image,
      verified,
      local: false,
      signal,
    });
    return { release, risks: acceptedRisks };
  }
}

function loaded({ release, local, verified }: LoadedRelease): Acceptance {
  const named = { version: release.version, image: release.image };
  return {
    step: 'PayloadLoaded',
    message: loadedMessage(named, release.architecture ?? architectureOf(process.arch)),
    failed: false,
    release: named,
    local,
    verified,
    acceptedRisks: '',
  };
}

/** Processors by the names that releases use. */
export const architectureOf = (name: string): string => ({ x64: 'amd64', ia32: '386' })[name] ?? name;
