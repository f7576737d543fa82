/** An upgrade that is held in one of its steps on a real API server, withdrawn there, and followed to its end: for tests. */
import { OPERATOR_NAMESPACE } from '@flotilla/api/managed';
import { type Client, createLogger, createMetrics, systemClock } from '@flotilla/runtime';
import type { StepName } from '@flotilla/upgrade';
import type { OcmClient } from '../src/clients/ocm.ts';
import { OcmCluster, OcmPolicy, OcmPolicyState } from '../src/clients/ocm-answers.ts';
import { readConfig } from '../src/config.ts';
import { createProvider } from '../src/managers/provider.ts';
import { runSync } from '../src/managers/sync-loop.ts';
import { type PortsFactory, runOperator } from '../src/operator.ts';
import type { Ports } from '../src/ports.ts';
import { type Step, waiting } from '../src/steps/step.ts';
import { stepsOf } from '../src/upgraders.ts';
import type { MemoryWorld } from './memory-world.ts';

/** OCM, as far as it decides on upgrades. */
export class MemoryOcm {
  policies: readonly OcmPolicy[] = [];
  readonly client: OcmClient = {
    cluster: async () => OcmCluster.parse({ id: 'c', version: { channel_group: 'stable' } }),
    policies: async () => [...this.policies],
    policyState: async () => OcmPolicyState.parse({ value: 'scheduled' }),
    setPolicyState: async () => undefined,
    ensureServiceLog: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };

  /** From now on it wants this upgrade, or none. */
  want(policy: { readonly version: string; readonly at: number } | undefined): void {
    const next_run = policy && `${new Date(policy.at).toISOString().slice(0, 19)}Z`;
    this.policies = policy ? [OcmPolicy.parse({ id: 'p', version: policy.version, next_run })] : [];
  }
}

/** Point at which an operator stops for a while. */
interface Hold {
  readonly step: StepName;
  /** Before what the step does; else after it, and before anybody knows of it. */
  readonly isBefore?: boolean;
  /** The step ends neither in this pass, whatever it did, nor in the next: what was asked for meanwhile is seen by a pass that is not the last one. */
  readonly endsPass?: boolean;
  /** Called when it has stopped there; it goes on when this resolves. Called once. */
  readonly until: () => Promise<void>;
}

/** Surroundings that the operators of a case share. */
interface CaseSurroundings {
  readonly client: Client;
  readonly world: MemoryWorld;
  readonly ocm: MemoryOcm;
}

/** An operator in this process that can be killed: from then on nothing that it does reaches anybody. */
export class MortalOperator {
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  #isDead = false;
  #visits = 0;
  #syncs = 0;
  #wake = (): void => undefined;

  constructor({ client, world, ocm }: CaseSurroundings, hold?: Hold) {
    const logger = createLogger({ name: 'operator', level: 'silent' });
    const mortal = this.#mortal(client);
    const deps = {
      client: mortal,
      settings: readConfig(['--retry-seconds', '1'], {}),
      logger,
      metrics: createMetrics({ process: false }),
      clock: systemClock,
    };
    const createPorts: PortsFactory = (_, caches, signal) => {
      const ports = this.#mortalPorts(world.ports);
      const { config } = ports;
      const provider = createProvider({ client: mortal, namespace: OPERATOR_NAMESPACE, config, ocm: () => ocm.client, logger });
      const onWake = (listener: () => void): void => {
        this.#wake = listener;
        caches.upgradeConfigs.subscribe(() => provider.problem()?.reason === 'ChangeHeld' && listener());
      };
      const onSynced = (): void => {
        this.#syncs += 1;
      };
      void caches.clusterVersions.synced().then(
        () => runSync({ provider, config, clock: systemClock, logger, onSynced, onWake }, signal),
        () => undefined,
      );
      return { ...ports, provider };
    };
    const steps: typeof stepsOf = (...of) => (hold ? this.#holdIn(hold, stepsOf(...of)) : stepsOf(...of));
    this.#ended = runOperator(deps, { createPorts, steps }, this.#stopping.signal);
  }

  /** Number of syncs with the provider so far. */
  get syncs(): number {
    return this.#syncs;
  }

  /** Has it ask OCM at once. */
  sync(): void {
    this.#wake();
  }

  /** It ends without another word. */
  async kill(): Promise<void> {
    this.#isDead = true;
    await this.stop();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  #holdIn({ step: name, isBefore = false, endsPass = false, until }: Hold, steps: readonly Step[]): Step[] {
    const { signal } = this.#stopping;
    return steps.map((step) => {
      if (step.name !== name) return step;
      const run: Step['run'] = async (context) => {
        const act = async () => (step.endsWithCommencement && context.isCommenced ? ({ kind: 'done' } as const) : step.run(context));
        this.#visits += 1;
        if (this.#visits > 1) return endsPass && this.#visits === 2 ? waiting('the test', 1) : act();
        const outcome = isBefore ? undefined : await act();
        await Promise.race([until(), new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))]);
        signal.throwIfAborted();
        return endsPass ? waiting('the test', 1) : (outcome ?? act());
      };
      return { ...step, run };
    });
  }

  #mortal<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (of, key) => {
        const value: unknown = Reflect.get(of, key);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (this.#isDead) throw new Error('it is dead');
          return value.apply(of, args);
        };
      },
    });
  }

  #mortalPorts(ports: Ports): Ports {
    return { ...ports, silences: this.#mortal(ports.silences), notifier: this.#mortal(ports.notifier), events: this.#mortal(ports.events) };
  }
}
