import { Annotation, errorMessage } from '@flotilla/api';
import { Job } from '@flotilla/api/core';
import { type PullerReport, SpokeName } from '@flotilla/api/ran';
import { type Client, type Clock, createClient, type Logger } from '@flotilla/runtime';
import { fitReport } from './progress.ts';

/** Bytes that Kubernetes reads of a termination message. */
const TERMINATION_BYTES = 4_096;
const LINE_MS = 1_000;
const WRITE_MS = 10_000;
/** The last write must not delay the end of the pod. */
const LAST_WRITE_MS = 2_500;

/** Destinations of reports. */
export interface ReportSinks {
  /** One line of JSON, without its newline. */
  line(text: string): void;
  /** The pod's termination message. */
  terminationMessage(text: string): Promise<void>;
  /** Writes an annotation of the Job; absent when switched off or outside a cluster. */
  job?: ((text: string, signal: AbortSignal) => Promise<void>) | undefined;
}

/** Options of a `Reporter`. */
interface ReporterOptions {
  readonly report: () => PullerReport;
  readonly sinks: ReportSinks;
  /** Milliseconds between two writes to the Job: each may cost the hub a write when it reads the Job back. */
  readonly jobMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Prints the report every second, and writes a changed one to the Job every `jobMs`. Never fails the pull. */
export class Reporter {
  readonly #options: ReporterOptions;
  #timer: Disposable | undefined;
  #written = '';
  #writtenAt = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | undefined;
  #stopWriting = new AbortController();

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = this.#options.clock.setTimer(LINE_MS, () => {
      this.#tick();
      this.start();
    });
  }

  /** Stops the timer and writes the last report everywhere, within three seconds. */
  async finish(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    const { sinks, logger } = this.#options;
    const report = this.#options.report();
    sinks.line(JSON.stringify(report));
    try {
      await sinks.terminationMessage(fitReport(report, TERMINATION_BYTES));
    } catch (error) {
      logger.debug({ err: errorMessage(error) }, 'No termination message');
    }
    // a write under way would overwrite the last one
    this.#stopWriting.abort();
    await this.#writing;
    await this.#write(report, LAST_WRITE_MS);
  }

  #tick(): void {
    const report = this.#options.report();
    this.#options.sinks.line(JSON.stringify(report));
    const { clock, jobMs } = this.#options;
    if (this.#writing || clock.now() - this.#writtenAt < jobMs) return;
    this.#writing = this.#write(report, WRITE_MS, this.#stopWriting.signal).finally(() => {
      this.#writing = undefined;
    });
  }

  async #write(report: PullerReport, timeoutMs: number, stop?: AbortSignal): Promise<void> {
    const { sinks, clock, logger } = this.#options;
    const { at: _, ...content } = report;
    const text = JSON.stringify(content);
    if (!sinks.job || text === this.#written) return;
    this.#writtenAt = clock.now();
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      await sinks.job(JSON.stringify(report), stop ? AbortSignal.any([stop, deadline]) : deadline);
      this.#written = text;
    } catch (error) {
      if (!stop?.aborted) logger.warn({ err: errorMessage(error) }, 'Writing progress failed');
    }
  }
}

const USER_AGENT = 'flotilla-image-puller';

/**
 * Writes texts into an annotation of the puller's Job, which the hub reads anyway. It patches the status, because the puller must not touch the
 * spec.
 */
export function jobSink(
  client: Client,
  namespace: string,
  annotation: string = Annotation.progress,
): (text: string, signal: AbortSignal) => Promise<void> {
  return async (text, signal) => {
    const change = { metadata: { annotations: { [annotation]: text } } };
    await client.patch(Job, { namespace, name: SpokeName.job }, change, { type: 'merge', subresource: 'status', signal });
  };
}

/**
 * Connects to the pod's own cluster, or to a kubeconfig's.
 * @throws FlotillaError without either
 */
export const connectToCluster = (kubeconfigPath: string | undefined): Client => createClient({ kubeconfigPath, userAgent: USER_AGENT });
