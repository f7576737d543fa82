import type { Manifest, UpdateError } from '@flotilla/release';
import type { Logger } from '@flotilla/runtime';
import type { Wakeups } from '../cluster/wakeups.ts';
import type { StepEnd } from './held.ts';

/** An error that is reported though it holds nothing up: a degraded operator. */
interface Report {
  readonly error: UpdateError;
  readonly manifest: Manifest;
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
  readonly #reports: Map<string, Report>;
  readonly #followers = new Set<Promise<void>>();

  constructor({ previous, ...options }: ReportsOptions) {
    this.#options = options;
    this.#reports = new Map(previous?.entries());
  }

  entries(): readonly (readonly [key: string, report: Report])[] {
    return [...this.#reports];
  }

  keys(): readonly string[] {
    return [...this.#reports.keys()];
  }

  list(): readonly Report[] {
    return [...this.#reports.values()];
  }

  has(key: string): boolean {
    return this.#reports.has(key);
  }

  set(key: string, report: Report): void {
    this.#reports.set(key, report);
    this.#options.refusals.tell(key, report.task, report.error);
  }

  /** It is as it should be. */
  end(key: string): void {
    const report = this.#reports.get(key);
    this.#options.refusals.forget(key);
    this.#reports.delete(key);
    if (report) this.#options.onEnd(report.manifest);
  }

  /** Somebody else tells of it. */
  forget(key: string): void {
    this.#reports.delete(key);
  }

  /** Looks at one when it changes until it is as it should be, or the signal aborts. */
  follow(key: string, signal: AbortSignal): void {
    this.#followers.add(this.#follow(key, signal));
  }

  async followed(): Promise<void> {
    await Promise.all(this.#followers);
  }

  /** Looks at all of them. False when one of them is to be waited for by now. */
  async review(): Promise<boolean> {
    let areDone = true;
    for (const [key, report] of this.entries()) areDone = (await this.#review(key, report)) && areDone;
    return areDone;
  }

  async #follow(key: string, signal: AbortSignal): Promise<void> {
    for (let report = this.#reports.get(key); report && !signal.aborted; report = this.#reports.get(key)) {
      using listening = this.#options.wakeups.listen([key]);
      await this.#review(key, report);
      await listening.after(LOOK_AGAIN_MS, signal);
    }
  }

  async #review(key: string, { manifest, task, error: before }: Report): Promise<boolean> {
    const { look, onChange } = this.#options;
    const end = await look(task, manifest);
    const error = end?.done === false ? end.held.error : end?.reported;
    if (error) this.set(key, { error, manifest, task });
    else this.end(key);
    if (error?.message !== before.message) onChange();
    return end?.done !== false;
  }
}

/** Says in the log what manifests ended with, each once per change. */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #told = new Map<string, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(key: string, task: string, { reason, message }: UpdateError): void {
    if (this.#told.get(key) === message) return;
    this.#told.set(key, message);
    this.#logger.warn({ manifest: task, reason, said: message }, 'A manifest is not as the release has it');
  }

  /** It is as it should be: what comes after is another change. */
  forget(key: string): void {
    this.#told.delete(key);
  }
}
