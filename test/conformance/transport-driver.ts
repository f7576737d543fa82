import { type Condition, findCondition, type KubeObject, untyped } from '@flotilla/api';
import { ConfigMap, CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import { ACTION_COMPLETED, ManagedClusterAction, ManagedClusterView, VIEW_PROCESSING } from '@flotilla/api/ocm';
import { settled } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import type { TransportSubject } from './transport-subject.ts';

/** Namespace on the spoke that the suite works in. */
export const SPOKE_NAMESPACE = 'conformance';

/** A custom resource of the suite. */
export const Widget = untyped('example.com/v1', 'Widget', 'widgets');

const TWO_POLLS_MS = 2200;
const PATIENCE = { timeout: 15_000, interval: 25 };

/** Tries again until it holds. */
export const soon = <T>(check: () => Promise<T>): Promise<T> => settled(check, PATIENCE);

/** Speaks to an agent through the hub, under names never used before. */
export class TransportDriver {
  readonly #subject: TransportSubject;
  #count = 0;

  constructor(subject: TransportSubject) {
    this.#subject = subject;
  }

  /** A name for this test alone. */
  name(stem: string): string {
    this.#count += 1;
    return `${stem}-${this.#count}`;
  }

  /** Creates what every test needs on the spoke. */
  async prepare(): Promise<void> {
    const { spoke } = this.#subject;
    await spoke.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SPOKE_NAMESPACE } });
    await spoke.create(CustomResourceDefinition, widgetDefinition);
    await soon(() => spoke.create(Widget, widget('first')));
  }

  async act(spec: Record<string, unknown>, stem = 'action'): Promise<string> {
    const name = this.name(stem);
    const metadata = { name, namespace: this.#subject.cluster };
    await this.#subject.hub.create(ManagedClusterAction, {
      apiVersion: ManagedClusterAction.apiVersion,
      kind: ManagedClusterAction.kind,
      metadata,
      spec,
    });
    return name;
  }

  async action(name: string): Promise<ManagedClusterAction> {
    return expectObject(await this.#subject.hub.get(ManagedClusterAction, { namespace: this.#subject.cluster, name }));
  }

  /** The verdict, once there is one (with this status). */
  verdict(name: string, status?: string): Promise<Condition> {
    return soon(async () => {
      const condition = findCondition((await this.action(name)).status?.conditions, ACTION_COMPLETED);
      if (status) expect(condition?.status).toBe(status);
      return expectObject(condition);
    });
  }

  /** Creates an action and waits for its verdict. A first False may turn True within a moment; the caller asks for one then. */
  async perform(spec: Record<string, unknown>): Promise<{ name: string; condition: Condition }> {
    const name = await this.act(spec);
    return { name, condition: await this.verdict(name) };
  }

  async see(scope: Record<string, unknown>, stem = 'view'): Promise<string> {
    const name = this.name(stem);
    const metadata = { name, namespace: this.#subject.cluster };
    await this.#subject.hub.create(ManagedClusterView, {
      apiVersion: ManagedClusterView.apiVersion,
      kind: ManagedClusterView.kind,
      metadata,
      spec: { scope },
    });
    return name;
  }

  async view(name: string): Promise<ManagedClusterView> {
    return expectObject(await this.#subject.hub.get(ManagedClusterView, { namespace: this.#subject.cluster, name }));
  }

  /** The view's condition, once there is one (with this status). */
  processing(name: string, status?: string): Promise<Condition> {
    return soon(async () => {
      const condition = findCondition((await this.view(name)).status?.conditions, VIEW_PROCESSING);
      if (status) expect(condition?.status).toBe(status);
      return expectObject(condition);
    });
  }

  /** `data.value` of the ConfigMap a view shows. */
  async shown(name: string): Promise<string | undefined> {
    const result = ConfigMap.schema.safeParse((await this.view(name)).status?.result);
    return result.data?.data?.value;
  }

  /** Resolves when the view shows this value. */
  showing(name: string, value: string): Promise<void> {
    return soon(async () => expect(await this.shown(name)).toBe(value));
  }

  /** Changes an annotation of an action or a view. */
  async touch(kind: typeof ManagedClusterAction | typeof ManagedClusterView, name: string): Promise<void> {
    const patch = { metadata: { annotations: { touched: this.name('touch') } } };
    await this.#patch(kind, name, patch);
  }

  async edit(kind: typeof ManagedClusterAction | typeof ManagedClusterView, name: string, spec: Record<string, unknown>): Promise<void> {
    await this.#patch(kind, name, { spec });
  }

  async clearStatus(view: string): Promise<void> {
    await this.#subject.hub.patch(
      ManagedClusterView,
      { namespace: this.#subject.cluster, name: view },
      { status: null },
      { type: 'merge', subresource: 'status' },
    );
  }

  /** A ConfigMap on the spoke with `data.value`. */
  async configMap(value: string, more: Record<string, unknown> = {}): Promise<string> {
    const name = this.name('cm');
    await this.#subject.spoke.create(ConfigMap, { ...configMap(name, { value }), ...more });
    return name;
  }

  async setValue(name: string, value: string): Promise<void> {
    await this.#subject.spoke.patch(ConfigMap, { namespace: SPOKE_NAMESPACE, name }, { data: { value } });
  }

  /** Until the agent has looked at everything asked before: it works in order, one at a time. */
  async barrier(): Promise<void> {
    await this.verdict(await this.act({ actionType: 'Create', kube: { template: configMap(this.name('barrier'), {}) } }), 'True');
  }

  /** The same for views: a view that is asked for now is answered after what is queued. */
  async viewBarrier(): Promise<void> {
    await this.processing(await this.see(viewOf(await this.configMap('barrier'), 3600)), 'True');
  }

  /** Until a view of one second has had time for two polls, and one such view has shown that the agent does poll. */
  async twoPolls(): Promise<void> {
    const startedAt = Date.now();
    const name = await this.configMap('0');
    const view = await this.see(viewOf(name, 1));
    for (let value = 0; value < 2 || Date.now() - startedAt < TWO_POLLS_MS; value += 1) {
      await this.setValue(name, String(value));
      await this.showing(view, String(value));
    }
  }

  async #patch(kind: typeof ManagedClusterAction | typeof ManagedClusterView, name: string, patch: Record<string, unknown>): Promise<void> {
    const ref = { namespace: this.#subject.cluster, name };
    if (kind === ManagedClusterAction) await this.#subject.hub.patch(ManagedClusterAction, ref, patch, { type: 'merge' });
    else await this.#subject.hub.patch(ManagedClusterView, ref, patch, { type: 'merge' });
  }
}

/** What is there; fails when nothing is. */
export function expectObject<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('nothing there');
  return value;
}

/** A ConfigMap in the suite's namespace. */
export const configMap = (name: string, data: Record<string, string>, metadata: Record<string, unknown> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: SPOKE_NAMESPACE, ...metadata },
  data,
});

/** A Widget in the suite's namespace. */
export const widget = (
  name: string,
  metadata: Record<string, unknown> = {},
  spec: Record<string, unknown> = { size: 1, colour: 'red' },
): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name, namespace: SPOKE_NAMESPACE, ...metadata },
  spec,
});

/** Scope of a view of a ConfigMap. */
export const viewOf = (name: string, updateIntervalSeconds?: number): Record<string, unknown> => ({
  version: 'v1',
  kind: 'ConfigMap',
  name,
  namespace: SPOKE_NAMESPACE,
  ...(updateIntervalSeconds === undefined ? {} : { updateIntervalSeconds }),
});

/** Of the Widgets. */
export const widgetDefinition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
