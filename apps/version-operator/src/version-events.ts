import { CLUSTER_VERSION_NAME, ClusterVersion, VERSION_NAMESPACE } from '@flotilla/api/config';
import type { AcceptanceEvent } from '@flotilla/release';
import { createEventRecorder, type EventRecorder, type ReconcilerOptions, troubleEvents } from '@flotilla/runtime';

/** An observing operator records no trouble, because it writes nothing. */
interface VersionEventsOptions extends Omit<Parameters<typeof createEventRecorder>[0], 'controller'> {
  readonly observe?: unknown;
}

/** Records events about the ClusterVersion. */
export class VersionEvents {
  /** Records the trouble of a reconciler. */
  readonly onTrouble: ReconcilerOptions['onTrouble'];
  readonly #recorder: EventRecorder;
  readonly #version: () => ClusterVersion | undefined;

  constructor({ client, instance, logger, metrics, clock, observe }: VersionEventsOptions, version: () => ClusterVersion | undefined) {
    this.#version = version;
    this.#recorder = createEventRecorder({ client, controller: 'version-operator', instance, logger, metrics, clock });
    this.onTrouble = troubleEvents(observe ? { record: () => {} } : this.#recorder, () => this.#subject());
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
