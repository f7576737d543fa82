import { type Condition, findCondition, type KubeObject } from '@flotilla/api';
import { ConfigMap, CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import { type ManifestStatus, ManifestWork } from '@flotilla/api/ocm';
import { expect } from 'vitest';
import { configMap, expectObject, SPOKE_NAMESPACE, soon, widgetDefinition } from './transport-driver.ts';
import type { TransportSubject } from './transport-subject.ts';

type Json = Record<string, unknown>;

/** Speaks to an agent by ManifestWorks, under names never used before. */
export class WorkDriver {
  readonly subject: TransportSubject;
  #count = 0;

  constructor(subject: TransportSubject) {
    this.subject = subject;
  }

  /** A name for this test alone. */
  name(stem: string): string {
    this.#count += 1;
    return `${stem}-${this.#count}`;
  }

  /** Creates what every test needs on the spoke. */
  async prepare(): Promise<void> {
    const { spoke } = this.subject;
    await spoke.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SPOKE_NAMESPACE } });
    await spoke.create(CustomResourceDefinition, widgetDefinition);
  }

  /** Creates a work of these manifests. @param finalizers the agent adds its own where it is not among them */
  async work(manifests: readonly unknown[], spec: Json = {}, finalizers: string[] = []): Promise<string> {
    const name = this.name('work');
    await this.subject.hub.create(ManifestWork, {
      apiVersion: ManifestWork.apiVersion,
      kind: ManifestWork.kind,
      metadata: { name, namespace: this.subject.cluster, finalizers },
      spec: { workload: { manifests }, ...spec },
    });
    return name;
  }

  ref(name: string) {
    return { namespace: this.subject.cluster, name };
  }

  async read(name: string): Promise<ManifestWork> {
    return expectObject(await this.subject.hub.get(ManifestWork, this.ref(name)));
  }

  async edit(name: string, spec: Json): Promise<void> {
    await this.subject.hub.patch(ManifestWork, this.ref(name), { spec }, { type: 'merge' });
  }

  /** Deletes a work and waits until it is gone. */
  async end(name: string): Promise<void> {
    await this.subject.hub.delete(ManifestWork, this.ref(name));
    await soon(async () => expect(await this.subject.hub.get(ManifestWork, this.ref(name))).toBeUndefined());
  }

  async condition(name: string, type: string): Promise<Condition | undefined> {
    return findCondition((await this.read(name)).status?.conditions, type);
  }

  /** The work's condition, once it has this status for the work as it is now. */
  settled(name: string, type: string, status: Condition['status']): Promise<Condition> {
    return soon(async () => {
      const work = await this.read(name);
      const condition = findCondition(work.status?.conditions, type);
      expect(condition).toMatchObject({ status, observedGeneration: work.metadata.generation });
      return expectObject(condition);
    });
  }

  /** Waits until every manifest of the work is applied. */
  applied(name: string): Promise<Condition> {
    return this.settled(name, 'Applied', 'True');
  }

  /** What the work says of one manifest. */
  async manifest(name: string, ordinal = 0): Promise<ManifestStatus> {
    const { status } = await this.read(name);
    return expectObject(status?.resourceStatus?.manifests?.find(({ resourceMeta }) => resourceMeta.ordinal === ordinal));
  }

  async manifestCondition(name: string, type: string, ordinal = 0): Promise<Condition> {
    return expectObject(findCondition((await this.manifest(name, ordinal)).conditions, type));
  }

  /** Feedback of one manifest as plain values. */
  async feedback(name: string, ordinal = 0): Promise<Json> {
    const values = (await this.manifest(name, ordinal)).statusFeedback?.values ?? [];
    return Object.fromEntries(values.map(({ name: key, fieldValue: { string, integer, boolean } }) => [key, string ?? integer ?? boolean]));
  }

  /** A ConfigMap of the spoke's namespace, as it is there. */
  async onSpoke(name: string): Promise<ConfigMap | undefined> {
    const object = await this.subject.spoke.get(ConfigMap, { namespace: SPOKE_NAMESPACE, name });
    return object && ConfigMap.schema.parse(object);
  }

  async dataOf(name: string): Promise<Json | undefined> {
    return (await this.onSpoke(name))?.data ?? undefined;
  }
}

/** What a work says about one ConfigMap. */
export const configOf = (name: string, options: Json): Json => ({
  resourceIdentifier: { group: '', resource: 'configmaps', name, namespace: SPOKE_NAMESPACE },
  ...options,
});

/** A manifest of a ConfigMap. */
export const manifest = (name: string, data: Record<string, string> = { a: '1' }, metadata: Json = {}): KubeObject =>
  configMap(name, data, metadata);
