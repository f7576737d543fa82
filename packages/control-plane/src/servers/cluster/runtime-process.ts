import { once } from 'node:events';
import { connect } from 'node:net';
import { waitUntilReady } from '../../processes/readiness.ts';
import type { ServerProcess } from '../../processes/server-process.ts';
import { type NodeRuntime, outside } from './runtime.ts';

/** The runtime's process, which can be replaced while pods run. */
export class RuntimeProcess {
  readonly #runtime: NodeRuntime;
  readonly #socket: string;
  #process: ServerProcess | undefined;

  /** `dir` is the cluster's folder. */
  constructor(runtime: NodeRuntime, dir: string) {
    this.#runtime = runtime;
    this.#socket = outside(dir, runtime.socket);
  }

  async start(): Promise<ServerProcess> {
    this.#process = await this.#runtime.start();
    return this.#process;
  }

  /** Waits until its socket takes connections: the file of an ended one stays. Throws ServerStartError. */
  untilReady(): Promise<void> {
    return waitUntilReady({
      what: `${this.#runtime.name} at ${this.#socket}`,
      processes: this.#process ? [this.#process] : [],
      check: () => canConnect(this.#socket),
    });
  }

  /** Ends it as a service manager does, and resolves when it has ended; containers go on. */
  async stop(): Promise<void> {
    await this.#process?.stop({ graceMs: 10_000 });
  }
}

async function canConnect(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } finally {
    socket.destroy();
  }
}
