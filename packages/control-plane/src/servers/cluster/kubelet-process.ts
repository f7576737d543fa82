import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerProcess } from '../../processes/server-process.ts';
import type { Tools } from '../../toolchain/tools.ts';
import { kubeletConfig } from './node-config.ts';
import type { NodeSpace } from './node-space.ts';
import type { NodeRuntime } from './runtime.ts';

/** Parts from which a kubelet is started. */
interface KubeletParts {
  /** Name of the node. */
  readonly name: string;
  readonly dir: string;
  readonly space: NodeSpace;
  readonly tools: Tools;
  readonly runtime: NodeRuntime;
  readonly address: string;
  readonly kubeconfigs: { readonly kubelet: string };
}

/** The kubelet's process, which can be replaced by one with other settings while pods run. */
export class KubeletProcess {
  readonly #parts: KubeletParts;
  #process: ServerProcess | undefined;

  constructor(parts: KubeletParts) {
    this.#parts = parts;
  }

  /** @param settings of its configuration, besides those of every cluster */
  async start(settings: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const { name, dir, space, tools, runtime, address, kubeconfigs } = this.#parts;
    const file = join(dir, 'kubelet.json');
    await writeFile(file, JSON.stringify({ ...kubeletConfig(dir, runtime), ...settings }));
    this.#process = await space.start('kubelet', tools.path('kubelet'), [
      `--config=${file}`,
      `--kubeconfig=${kubeconfigs.kubelet}`,
      `--hostname-override=${name}`,
      `--node-ip=${address}`,
    ]);
  }

  /** Ends it as a service manager does. */
  async stop(): Promise<void> {
    await this.#process?.stop({ graceMs: 10_000 });
  }
}
