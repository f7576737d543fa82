import type { Manifest, PassError, UpdateError } from '@flotilla/release';
import type { Logger } from '@flotilla/runtime';
import type { Wakeups } from '../cluster/wakeups.ts';
import type { Wanted } from '../payload/wanted.ts';
import type { StepEnd } from './held.ts';

/** An error that is reported though it holds nothing up: a degraded operator. */
interface Report {
  readonly error: UpdateError;
  readonly wanted: Wanted;
  readonly task: string;
}

interface ReportsOptions {
  /** Looks at a manifest again; undefined for one that this cluster leaves out by now. */
  readonly look: (task: string, manifest: Manifest) => Promise<StepEnd> | undefined;
  readonly wakeups: Wakeups;
  readonly refusals: RefusalLog;
  readonly onChange: () => void;
  readonly onEnd: (manifest: Manifest) => void;
  /** Reports of the pass before, which stand until they are looked at again. */
  readonly previous?: Reports | undefined;
}

/** A report is looked at so often even when no watch tells of it, milliseconds. */
const LOOK_AGAIN_MS = 30_000;

/** Errors that a pass reports beside its waits, until their objects are as they should be. */
export class Reports {
  readonly #options: Omit<ReportsOptions, 'previous'>;
  readonly #reports: Map<Manifest, Report>;
  readonly #followers = new Set<Promise<void>>();

  constructor({ previous, ...options }: ReportsOptions) {
    this.#options = options;
    this.#reports = new Map(previous?.entries());
  }

  entries(): readonly (readonly [manifest: Manifest, report: Report])[] {
    return [...this.#reports];
  }

  /** Keys of the objects. */
  keys(): readonly string[] {
    return [...this.#reports.values()].map(({ wanted }) => wanted.key);
  }

  list(): readonly PassError[] {
    return this.entries().map(([manifest, { error }]) => ({ error, manifest }));
  }

  has(manifest: Manifest): boolean {
    return this.#reports.has(manifest);
  }

  set(report: Report): void {
    const { manifest } = report.wanted;
    this.#reports.set(manifest, report);
    this.#options.refusals.tell(manifest, report.task, report.error);
  }

  /** It is as it should be. */
  end(manifest: Manifest): void {
    const isEnded = this.#reports.delete(manifest);
    this.#options.refusals.forget(manifest);
    if (isEnded) this.#options.onEnd(manifest);
  }

  /** Somebody else tells of it. */
  forget(manifest: Manifest): void {
    this.#reports.delete(manifest);
  }

  /** Looks at one when it changes until it is as it should be, or the signal aborts. */
  follow(manifest: Manifest, signal: AbortSignal): void {
    this.#followers.add(this.#follow(manifest, signal));
  }

  async followed(): Promise<void> {
    await Promise.all(this.#followers);
  }

  /** Looks at all of them. False when one of them is to be waited for by now. */
  async review(): Promise<boolean> {
    let areDone = true;
    for (const report of [...this.#reports.values()]) areDone = (await this.#review(report)) && areDone;
    return areDone;
  }

  async #follow(manifest: Manifest, signal: AbortSignal): Promise<void> {
    for (let report = this.#reports.get(manifest); report && !signal.aborted; report = this.#reports.get(manifest)) {
      using listening = this.#options.wakeups.listen([report.wanted.key]);
      await this.#review(report);
      await listening.after(LOOK_AGAIN_MS, signal);
    }
  }

  async #review({ wanted, task, error: before }: Report): Promise<boolean> {
    const { look, onChange } = this.#options;
    const { manifest } = wanted;
    const end = await look(task, manifest);
    const error = end?.done === false ? end.held.error : end?.reported;
    if (error) this.set({ error, wanted, task });
    else this.end(manifest);
    if (error?.message !== before.message) onChange();
    return end?.done !== false;
  }
}

/** Says in the log what manifests ended with, each once per change. */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #told = new Map<Manifest, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(about: Manifest, task: string, { reason, message }: UpdateError): void {
    if (this.#told.get(about) === message) return;
    this.#told.set(about, message);
    this.#logger.warn({ manifest: task, reason, said: message }, 'A manifest is not as the release has it');
  }

  /** It is as it should be: what comes after is another change. */
  forget(about: Manifest): void {
    this.#told.delete(about);
  }
}
