import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '@flotilla/api';
import { Pod } from '@flotilla/api/core';
import { type Client, isNotFound, WatchCache } from '@flotilla/runtime';
import { placeInLayout } from './layout-images.ts';
import { NodePod, type Volume, volumeFiles, writeFiles } from './node-pod.ts';
import { type NodeProgram, programOf, startNodeProgram } from './node-program.ts';

/** Options of a node. */
interface ProcessNodeOptions {
  readonly name: string;
  readonly client: Client;
  /** The cluster's API server, for the programs' own access. */
  readonly server: { readonly url: string; readonly certificateAuthority: string };
  /** Folder of pods. */
  readonly dir: string;
  /** Folder of the image store, an OCI layout. */
  readonly storeDir: string;
  /** Translates a text about the outside world to this side of the link. */
  readonly translate: (text: string) => string;
  /** `host:port` of the registry on this side of the link, at this moment. */
  readonly mirror: () => string;
  readonly say: (line: string) => void;
}

/** Milliseconds between two tries to get an image. */
const PULL_AGAIN_MS = 1_000;

/**
 * A node where there is no container runtime: it watches the pods of its API server and runs those of our own images as
 * processes, with their environment, ConfigMaps, Secrets and the rights of their ServiceAccount. Images go to an OCI layout: a pod
 * of any other image is Ready when its image is there, whole, and nothing runs in it.
 */
export class ProcessNode {
  readonly #options: ProcessNodeOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #programs = new Map<string, NodeProgram>();
  #signal: AbortSignal = AbortSignal.abort();
  readonly #waiting = new Map<string, AbortController>();
  #pulls: Promise<unknown> = Promise.resolve();

  constructor(options: ProcessNodeOptions) {
    this.#options = options;
  }

  /** Begins to run pods, until the signal aborts. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    const pods = new WatchCache(this.#options.client, NodePod, {});
    pods.subscribe(({ type, object }) => {
      const { uid = '', deletionTimestamp } = object.metadata;
      if (type === 'deleted' || deletionTimestamp) this.#end(uid);
      else if (!this.#running.has(uid))
        this.#running.set(
          uid,
          this.#run(object).catch((error: unknown) => this.#report(object, error)),
        );
    });
    pods.start(signal);
  }

  /** Ends every program and waits until all are gone. */
  async stop(): Promise<void> {
    await Promise.all([...this.#programs.values()].map((program) => program.stop()));
    await Promise.all(this.#running.values());
  }

  #end(uid: string): void {
    void this.#programs.get(uid)?.stop();
    this.#waiting.get(uid)?.abort();
  }

  async #run(pod: NodePod): Promise<void> {
    const [container] = pod.spec.containers;
    if (!container) throw new RangeError('it has no container');
    const app = programOf(container.image);
    if (!app) return this.#place(pod, container.image);
    const dir = join(this.#options.dir, pod.metadata.uid ?? pod.metadata.name);
    await mkdir(dir, { recursive: true });
    const mounts = await this.#mount(pod, dir);
    const program = await startNodeProgram({ ...this.#options, app, pod, container, dir, mounts });
    this.#programs.set(pod.metadata.uid ?? '', program);
    const startedAt = new Date().toISOString();
    await this.#patch(pod, { phase: 'Running', ready: true, state: { running: { startedAt } } });
    const exitCode = await program.exited;
    if (this.#signal.aborted) return;
    const message = (await readFile(program.terminationLog, 'utf8').catch(() => '')).slice(0, 4096);
    const terminated = {
      exitCode,
      message,
      startedAt,
      finishedAt: new Date().toISOString(),
      reason: exitCode === 0 ? 'Completed' : 'Error',
    };
    await this.#patch(pod, { phase: exitCode === 0 ? 'Succeeded' : 'Failed', ready: false, state: { terminated } });
  }

  /** Waits for the image, one after the other, as a kubelet pulls them; tries again until the pod is gone. */
  async #place(pod: NodePod, image: string): Promise<void> {
    const { storeDir, mirror, name, say } = this.#options;
    const gone = new AbortController();
    this.#waiting.set(pod.metadata.uid ?? '', gone);
    const signal = AbortSignal.any([this.#signal, gone.signal]);
    let told = false;
    for (;;) {
      const place = () => (signal.aborted ? undefined : placeInLayout(image, { storeDir, mirror: mirror(), signal }).catch(errorMessage));
      const placed = this.#pulls.then(place);
      this.#pulls = placed;
      const problem = await placed;
      if (signal.aborted) return;
      if (problem === undefined) break;
      if (!told) say(`${name}: pod ${pod.metadata.name} waits for its image: ${problem}`);
      told = true;
      await delay(PULL_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
    await this.#patch(pod, { phase: 'Running', ready: true, state: { running: { startedAt: new Date().toISOString() } } });
  }

  /** Writes the files of ConfigMaps and Secrets; returns mount path → folder. */
  async #mount(pod: NodePod, dir: string): Promise<ReadonlyMap<string, string>> {
    const mounts = new Map<string, string>();
    for (const { name, mountPath } of pod.spec.containers[0]?.volumeMounts ?? []) {
      const volume: Volume | undefined = pod.spec.volumes.find((candidate) => candidate.name === name);
      const files = volume && (await volumeFiles(this.#options.client, pod.metadata.namespace ?? '', volume));
      if (!files) continue;
      const folder = join(dir, 'volumes', name);
      await writeFiles(folder, files, this.#options.translate);
      mounts.set(mountPath, folder);
    }
    return mounts;
  }

  async #patch(pod: NodePod, { phase, ready, state }: { phase: string; ready: boolean; state: unknown }): Promise<void> {
    const { name, namespace } = pod.metadata;
    const container = pod.spec.containers[0];
    const status = {
      phase,
      startTime: new Date().toISOString(),
      conditions: ['Ready', 'ContainersReady'].map((type) => ({ type, status: ready ? 'True' : 'False' })),
      containerStatuses: [{ name: container?.name, image: container?.image, imageID: '', ready, restartCount: 0, state }],
    };
    // A pod that was deleted meanwhile has no status to write.
    await this.#options.client
      .patch(Pod, { name, namespace }, { status }, { type: 'merge', subresource: 'status' })
      .catch((error: unknown) => {
        if (!this.#signal.aborted && !isNotFound(error)) throw error;
      });
  }

  async #report(pod: NodePod, error: unknown): Promise<void> {
    if (this.#signal.aborted) return;
    this.#options.say(`${this.#options.name}: pod ${pod.metadata.name} cannot run: ${errorMessage(error)}`);
    const terminated = { exitCode: 128, reason: 'StartError', message: errorMessage(error) };
    await this.#patch(pod, { phase: 'Failed', ready: false, state: { terminated } }).catch(() => undefined);
  }
}
