import { CLUSTER_VERSION_NAME, ClusterVersion, VERSION_NAMESPACE } from '@flotilla/api/config';
import type { AcceptanceEvent } from '@flotilla/release';
import {
  type Clock,
  createEventRecorder,
  type EventRecorder,
  type Logger,
  type ReconcilerOptions,
  RefusedValues,
  refusedText,
  troubleEvents,
} from '@flotilla/runtime';

/** An observing operator records no trouble, because it writes nothing. */
interface VersionEventsOptions extends Omit<Parameters<typeof createEventRecorder>[0], 'controller'> {
  readonly observe?: unknown;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Records events about the ClusterVersion. */
export class VersionEvents {
  /** Records the trouble of a reconciler. */
  readonly onTrouble: ReconcilerOptions['onTrouble'];
  /** Values of the ClusterVersion's status that the server refused, and that events tell of. */
  readonly refused: RefusedValues;
  readonly #recorder: EventRecorder;
  readonly #version: () => ClusterVersion | undefined;

  constructor({ client, instance, logger, metrics, clock, observe }: VersionEventsOptions, version: () => ClusterVersion | undefined) {
    this.#version = version;
    this.#recorder = createEventRecorder({ client, controller: 'version-operator', instance, logger, metrics, clock });
    this.onTrouble = troubleEvents(observe ? { record: () => {} } : this.#recorder, () => this.#subject());
    this.refused = new RefusedValues({
      clock,
      // without one of its risks an update would look safer than it is
      whole: ['status.conditionalUpdates[]'],
      tell: (value) => {
        logger.warn(value, 'The server does not take a value of the status, which is left out');
        this.record({ type: 'Warning', reason: 'StatusValueRefused', message: refusedText(value) });
      },
    });
  }

  record({ type, reason, message }: AcceptanceEvent): void {
    this.#recorder.record({ type, reason, action: reason, note: message, regarding: this.#subject() });
  }

  close(): Promise<void> {
    return this.#recorder.close();
  }

  /** The kind has no namespace, but events about it are looked for in this one. */
  #subject() {
    const { apiVersion, kind } = ClusterVersion;
    return { apiVersion, kind, namespace: VERSION_NAMESPACE, name: CLUSTER_VERSION_NAME, uid: this.#version()?.metadata.uid };
  }
}
