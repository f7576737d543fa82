import { findCondition, mergePatched } from '@flotilla/api';
import { ManifestWork, WORK_FINALIZER } from '@flotilla/api/ocm';
import type { ServedResource } from '@flotilla/runtime';
import type { WorkAccess } from '../src/access.ts';
import { DEFAULT_WORK_CADENCE, type WorkCadence, type WorkMemory } from '../src/works/pass.ts';
import { createMemoryRecords, type WorkRecords } from '../src/works/records.ts';
import { passWork } from '../src/works/work.ts';

type Json = Record<string, unknown>;

/** A kind that the spoke serves. */
export const kind = (name: string, namespaced = true, group = ''): ServedResource => ({
  group,
  version: 'v1',
  kind: name,
  plural: `${name.toLowerCase()}s`,
  singular: name.toLowerCase(),
  namespaced,
});

/** Spoke of plain objects; an apply replaces the object. */
class PlainSpoke implements WorkAccess {
  readonly objects = new Map<string, Json>();
  kinds = [kind('ConfigMap'), kind('Namespace', false)];
  /** Calls in order as `verb key`, without reads of kinds. */
  readonly calls: string[] = [];
  refusal: string | undefined;
  keepsDeleted = false;
  /** Status of every object that is applied. */
  status: Json | undefined;

  findKind(apiVersion: string, name: string) {
    return Promise.resolve(this.kinds.find((served) => served.kind === name && apiVersion.endsWith(served.version)));
  }

  find(...where: Where) {
    return Promise.resolve(this.objects.get(this.#call('find', where)));
  }

  findResource(spelling: string) {
    return Promise.resolve(this.kinds.find(({ plural, kind: name }) => [plural, name].includes(spelling.split('.')[0] ?? '')));
  }

  create(served: ServedResource, namespace: string | undefined, object: Json) {
    return this.apply(served, namespace, String(Object(object.metadata).name), object);
  }

  apply(served: ServedResource, namespace: string | undefined, name: string, object: Json) {
    const key = this.#call('apply', [served, namespace, name]);
    const metadata = { uid: `uid of ${key}`, ...Object(object.metadata) };
    const stored = { ...object, metadata, ...(this.status && { status: this.status }) };
    this.objects.set(key, stored);
    return Promise.resolve(stored);
  }

  mergePatch(served: ServedResource, namespace: string | undefined, name: string, patch: Json) {
    const key = this.#call('patch', [served, namespace, name]);
    const stored: Json = Object(mergePatched(this.objects.get(key), patch));
    this.objects.set(key, stored);
    return Promise.resolve(stored);
  }

  deleteExactly(...where: Where) {
    const key = this.#call('delete', where);
    if (!this.keepsDeleted) this.objects.delete(key);
    return Promise.resolve();
  }

  change(key: string, change: Json): void {
    this.objects.set(key, { ...this.objects.get(key), ...change });
  }

  #call(verb: string, [served, namespace = '', name]: Where): string {
    const key = `${served.kind}/${namespace}/${name}`;
    if (served.namespaced !== (namespace !== '')) throw new Error('the server could not find the requested resource');
    this.calls.push(`${verb} ${key}`);
    if (this.refusal && verb !== 'find') throw new Error(this.refusal);
    return key;
  }
}
type Where = [served: ServedResource, namespace: string | undefined, name: string];

/** A manifest. */
export const configMap = (name: string, data: Json = { a: '1' }) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'ns' },
  data,
});

/** A work with its agent's memory, on a clock that the test advances. */
export class Hub {
  readonly spoke = new PlainSpoke();
  records: WorkRecords = createMemoryRecords();
  nowMs = Date.parse('2026-01-01T00:00:00Z');
  random = 0;
  work: ManifestWork;
  memory: WorkMemory | undefined;
  cadence: WorkCadence = DEFAULT_WORK_CADENCE;
  /** Status writes so far. */
  writes = 0;

  constructor(manifests: readonly Json[], spec: Json = {}) {
    this.work = ManifestWork.schema.parse({
      apiVersion: ManifestWork.apiVersion,
      kind: ManifestWork.kind,
      metadata: { name: 'work', namespace: 'spoke-1', uid: 'uid-1', generation: 1, finalizers: [WORK_FINALIZER] },
      spec: { workload: { manifests }, ...spec },
    });
  }

  edit(spec: Json, metadata: Json = {}): void {
    const generation = (this.work.metadata.generation ?? 0) + 1;
    this.work = ManifestWork.schema.parse(mergePatched(this.work, { metadata: { generation, ...metadata }, spec }));
  }

  /** Runs one pass and writes it to the hub; returns the writes and the next due time. */
  async pass(isTold = false) {
    const moment = { nowMs: this.nowMs, random: this.random, cadence: this.cadence, isTold };
    const { finalizers, status, memory, requeueAfterMs } = await passWork(
      this.work,
      this.memory,
      { objects: this.spoke, records: this.records },
      moment,
    );
    this.work = ManifestWork.schema.parse({
      ...this.work,
      metadata: { ...this.work.metadata, ...(finalizers && { finalizers }) },
      ...(status && { status }),
    });
    this.memory = memory;
    if (status) this.writes += 1;
    return { finalizers, hasWritten: status !== undefined, requeueAfterMs };
  }

  /** Runs passes until the clock has advanced; returns their times, in milliseconds from now. */
  async run(ms: number): Promise<number[]> {
    const from = this.nowMs;
    const moments: number[] = [];
    for (;;) {
      const { requeueAfterMs = Number.POSITIVE_INFINITY } = await this.pass();
      moments.push(this.nowMs - from);
      if (this.nowMs + requeueAfterMs > from + ms) return moments;
      this.nowMs += requeueAfterMs;
    }
  }

  condition(type: string) {
    return findCondition(this.work.status?.conditions, type);
  }

  manifest(ordinal: number) {
    return this.work.status?.resourceStatus?.manifests?.find(({ resourceMeta }) => resourceMeta.ordinal === ordinal);
  }

  count(verb: string): number {
    return this.spoke.calls.filter((call) => call.startsWith(verb)).length;
  }
}
