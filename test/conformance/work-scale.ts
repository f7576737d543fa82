import { KubeObject, untyped } from '@flotilla/api';
import { HorizontalPodAutoscaler } from '@flotilla/api/core';
import { expect, test } from 'vitest';
import { SPOKE_NAMESPACE, soon } from './transport-driver.ts';
import type { WorkDriver } from './work-driver.ts';

type Json = Readonly<Record<string, unknown>>;
const Deployment = untyped('apps/v1', 'Deployment', 'deployments');
const IMAGE = '.spec.template.spec.containers[?(@.name=="main")].image';

const deployment = (name: string, image: string, replicas = 3) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: SPOKE_NAMESPACE },
  spec: {
    replicas,
    minReadySeconds: 1,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image }] } },
  },
});

/** A Deployment of a work, whose replicas others set. */
class Scaled {
  readonly driver: WorkDriver;
  readonly name: string;
  readonly work: string;

  private constructor(driver: WorkDriver, name: string, work: string) {
    this.driver = driver;
    this.name = name;
    this.work = work;
  }

  static async start(driver: WorkDriver, updateStrategy: Json): Promise<Scaled> {
    const name = driver.name('web');
    const resourceIdentifier = { group: 'apps', resource: 'deployments', name, namespace: SPOKE_NAMESPACE };
    const work = await driver.work([deployment(name, 'i:1')], { manifestConfigs: [{ resourceIdentifier, updateStrategy }] });
    await driver.applied(work);
    return new Scaled(driver, name, work);
  }

  get ref() {
    return { namespace: SPOKE_NAMESPACE, name: this.name };
  }

  /** Makes an autoscaler that names the Deployment. */
  async autoscale(): Promise<void> {
    await this.driver.subject.spoke.create(HorizontalPodAutoscaler, {
      metadata: this.ref,
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: this.name }, minReplicas: 2, maxReplicas: 9 },
    });
  }

  async edit(image: string, replicas?: number): Promise<void> {
    await this.driver.edit(this.work, { workload: { manifests: [deployment(this.name, image, replicas)] } });
    await this.driver.applied(this.work);
  }

  async change(spec: Json): Promise<void> {
    await this.driver.subject.spoke.patch(Deployment, this.ref, { spec });
  }

  /** Changes a field of the work's beside these, and waits until it is put back. */
  async changeUntilRepaired(spec: Json): Promise<void> {
    await this.change({ ...spec, minReadySeconds: 7 });
    await soon(async () => expect((await this.#spec()).minReadySeconds).toBe(1));
  }

  /** Replicas and image, as the spoke has them. */
  async state() {
    const { replicas, template } = await this.#spec();
    return { replicas, image: template.spec.containers[0].image };
  }

  async #spec() {
    return Object(KubeObject.parse(await this.driver.subject.spoke.get(Deployment, this.ref)).spec);
  }
}

/** Whose replicas are: an autoscaler's that names the object, or those of whom the work leaves them to. */
export function scaleTests(get: () => WorkDriver): void {
  test('Update leaves replicas to the autoscaler that names the object, and nothing else', async () => {
    const scaled = await Scaled.start(get(), { type: 'Update' });
    await scaled.change({ replicas: 5 });
    await soon(async () => expect(await scaled.state()).toMatchObject({ replicas: 3 }));
    await scaled.autoscale();
    // a repair may be under way that has not heard of the autoscaler
    await soon(async () => {
      await scaled.changeUntilRepaired({ replicas: 5 });
      expect(await scaled.state()).toMatchObject({ replicas: 5 });
    });
    await scaled.edit('i:2');
    expect(await scaled.state()).toEqual({ replicas: 5, image: 'i:2' });
    await scaled.driver.subject.spoke.delete(HorizontalPodAutoscaler, scaled.ref);
    await soon(async () => expect(await scaled.state()).toMatchObject({ replicas: 3 }));
  });

  test('ServerSideApply that forces its fields takes the replicas of an autoscaler too', async () => {
    const scaled = await Scaled.start(get(), { type: 'ServerSideApply', serverSideApply: { force: true } });
    await scaled.autoscale();
    await scaled.changeUntilRepaired({ replicas: 5 });
    expect(await scaled.state()).toMatchObject({ replicas: 3 });
  });

  test('fields that a work ignores while the object is there stay as they are, by whomever they were set', async () => {
    const ignoreFields = [{ condition: 'OnSpokePresent', jsonPaths: ['.spec.replicas', IMAGE] }];
    const scaled = await Scaled.start(get(), { type: 'ServerSideApply', serverSideApply: { force: true, ignoreFields } });
    await scaled.edit('i:2', 4);
    expect(await scaled.state()).toEqual({ replicas: 3, image: 'i:1' });
    await scaled.changeUntilRepaired({ replicas: 5, template: { spec: { containers: [{ name: 'main', image: 'theirs:1' }] } } });
    expect(await scaled.state()).toEqual({ replicas: 5, image: 'theirs:1' });
    await scaled.edit('i:3', 6);
    expect(await scaled.state()).toEqual({ replicas: 5, image: 'theirs:1' });
  });

  test('fields that a work ignores when the spoke changes them are its own again by its next edit', async () => {
    const ignoreFields = [{ condition: 'OnSpokeChange', jsonPaths: ['.spec.replicas'] }];
    const scaled = await Scaled.start(get(), { type: 'ServerSideApply', serverSideApply: { force: true, ignoreFields } });
    await scaled.changeUntilRepaired({ replicas: 5 });
    expect(await scaled.state()).toMatchObject({ replicas: 5 });
    await scaled.edit('i:2', 4);
    expect(await scaled.state()).toEqual({ replicas: 4, image: 'i:2' });
  });
}
