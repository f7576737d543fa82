import { AGENT_FIELD_MANAGER } from '@flotilla/agent';
import { conditionTime, isJsonObject } from '@flotilla/api';
import { APIServer, ClusterProxy, ClusterVersion, configCrds, FeatureGate, Infrastructure } from '@flotilla/api/config';
import { managedCrds, OPERATOR_NAMESPACE } from '@flotilla/api/managed';
import { buildOpenDefinition, machineCrds } from '@flotilla/api/testing';
import { MemoryServer } from '@flotilla/control-plane/memory';
import {
  type ClusterActors,
  createSmallCluster,
  type FakeOperators,
  type SpokeServer,
  startClusterActors,
  startFakeOperators,
} from '@flotilla/control-plane/simulators';
import { type Client, createObjectAccess } from '@flotilla/runtime';
import { MemoryWorld } from '@flotilla/upgrade-operator/testing';
import { PLAYED_OPERATORS, playedImage, playedScript, runPlayedReleases } from '@flotilla/version-operator/testing';
import { carried, farPorts } from './far-services.ts';
import { SimulatedProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';
import { type OperatedPart, type Operator, type Story, skewOf } from './story.ts';
import type { StormyWeather } from './weather.ts';

/** Version of an operated spoke at the start, that which is asked of it, and another one that it could go to. */
export const VERSIONS = { first: '4.14.9', asked: '4.14.10', other: '4.14.11' } as const;
/** Channel of these versions. */
export const CHANNEL = 'stable-4.14';
/** Seconds of a real cluster for its minutes. */
const PACE = { controlPlaneMs: 90_000, nodeMs: 30_000, lookAgainMs: 10_000, drainAgainMs: [10_000, 60_000] as const };

/** Kinds of a cluster's settings. Who does not find them looks for them all the time. */
const SETTINGS = [FeatureGate, ClusterProxy, Infrastructure, APIServer].map(({ kind, plural }) =>
  buildOpenDefinition({ group: 'config.openshift.io', kind, plural, scope: 'Cluster' }),
);
/** From a change of an operator's Deployment to its report. */
const REPORT_MS = 20_000;
/** From a deletion in the foreground to its end. */
const GARBAGE_MS = 1_000;

/** Parts of the world that an operated spoke uses. */
interface SpokeSurroundings {
  readonly story: Story;
  readonly scheduler: Scheduler;
  readonly weather: StormyWeather;
  readonly connect: (process: SimulatedProcess, server: MemoryServer) => { client: Client; close: () => void };
  readonly onStored: NonNullable<NonNullable<ConstructorParameters<typeof MemoryServer>[0]>['onStored']>;
  readonly onCrash: (error: unknown) => void;
}

/** A spoke with an API server of its own, on which its operators run; the rest of the cluster is played. */
export class OperatedSpoke {
  readonly part: OperatedPart;
  readonly server: MemoryServer;
  /** Services that the upgrade operator asks. */
  readonly services: MemoryWorld;
  /** Since when the services say no, milliseconds since the epoch. */
  readonly refusals: { since: number | undefined } = { since: undefined };
  /** Client of people: in no process, and nothing happens on its way. */
  readonly admin: Client;
  readonly #around: SpokeSurroundings;
  readonly #running = new Map<Operator, { readonly process: SimulatedProcess; readonly close: () => void }>();
  #actors: ClusterActors | undefined;
  #operators: FakeOperators | undefined;
  #started = 0;

  constructor(part: OperatedPart, around: SpokeSurroundings) {
    this.part = part;
    this.#around = around;
    const { scheduler, story, onStored } = around;
    this.server = new MemoryServer({
      crds: [...managedCrds(), ...configCrds(), ...machineCrds(), ...SETTINGS],
      namespaces: [OPERATOR_NAMESPACE],
      clock: scheduler,
      seed: story.seed,
      onStored: (kind, change) => {
        onStored(kind, change);
        const { metadata } = change.after.object;
        const isGoing = isJsonObject(metadata) && metadata.deletionTimestamp !== undefined;
        if (isGoing && change.type !== 'DELETED') scheduler.setTimer(GARBAGE_MS, () => this.server.collectGarbage());
      },
    });
    this.admin = this.server.client({ manager: 'admin' });
    this.services = new MemoryWorld(scheduler);
    this.services.images = Object.fromEntries(Object.values(VERSIONS).map((version) => [playedImage(version), version]));
  }

  /** The way of the spoke's agent to this server. */
  access(agents: SimulatedProcess): SpokeServer {
    const { client } = this.#around.connect(agents, this.server);
    return {
      objects: createObjectAccess(client, AGENT_FIELD_MANAGER),
      groups: new Set(['upgrade.managed.openshift.io', 'config.openshift.io']),
    };
  }

  /** Writes the cluster, and starts what plays it and the operators. */
  async start(): Promise<void> {
    const client = this.admin;
    const { scheduler } = this.#around;
    const withoutVersion = this.part.operators === 'both';
    await createSmallCluster(client, { version: VERSIONS.first, channel: CHANNEL, withoutVersion });
    const offers = { [CHANNEL]: [VERSIONS.asked, VERSIONS.other] };
    this.#actors = await startClusterActors({ client, clock: scheduler, offers, pace: PACE, withoutVersion });
    if (withoutVersion) {
      await createAppliedVersion(client, scheduler.now());
      const releases = Object.values(VERSIONS).map(playedScript);
      this.#operators = await startFakeOperators({ client, clock: scheduler, releases, updateDelayMs: REPORT_MS });
      this.startOperator('version');
    }
    this.startOperator('upgrade');
  }

  startOperator(operator: Operator): void {
    const { scheduler, onCrash, connect } = this.#around;
    this.#started += 1;
    const process = new SimulatedProcess(`${operator}-operator.${this.#started}`, scheduler);
    const { client, close } = connect(process, this.server);
    this.#run(operator, client, process).catch(onCrash);
    this.#running.set(operator, { process, close });
  }

  #run(operator: Operator, client: Client, process: SimulatedProcess): Promise<void> {
    const { weather } = this.#around;
    const { signal } = new AbortController();
    if (operator === 'upgrade')
      return this.services.run({ client, clock: process, ports: farPorts(this.services.ports, process, weather) }, signal);
    const far = <T>(act: () => Promise<T>, stop: AbortSignal): Promise<T> =>
      carried(act, { process, weather, path: 'registry', signal: stop });
    const { first, ...others } = VERSIONS;
    return runPlayedReleases({ client, clock: process, versions: [first, ...Object.values(others)], far }, signal);
  }

  /** Keeps versions or nodes of the cluster from getting on; the one that is left out gets on again. */
  hold({ version = false, nodes = false }: { readonly version?: boolean; readonly nodes?: boolean }): void {
    this.#actors?.setFaults({ controlPlaneHeld: version, nodesHeld: nodes });
    for (const name of PLAYED_OPERATORS) this.#operators?.setOperator(name, version ? { isSlow: true } : undefined);
  }

  /** Milliseconds by which the clocks of operators were put ahead in all. */
  readonly skewMs = (): number =>
    this.#around.story.acts.reduce((sum, act) => sum + (act.what === 'skew operator' ? skewOf(act.ms) : 0), 0);

  /** The process of an operator, where it is alive. */
  process(operator: Operator): SimulatedProcess | undefined {
    return this.#running.get(operator)?.process;
  }

  kill(operator: Operator): void {
    const running = this.#running.get(operator);
    running?.process.kill();
    running?.close();
    this.#running.delete(operator);
  }
}

/** The ClusterVersion of a cluster on which the first version was applied long ago. */
async function createAppliedVersion(client: Client, now: number): Promise<void> {
  const ref = { name: 'version' };
  const spec = { clusterID: '00000000-0000-4000-8000-000000000001', channel: CHANNEL };
  await client.create(ClusterVersion, { metadata: ref, spec });
  const release = { version: VERSIONS.first, image: playedImage(VERSIONS.first) };
  const time = conditionTime(now);
  const history = [{ ...release, state: 'Completed', startedTime: time, completionTime: time, verified: false }];
  const status = { desired: release, observedGeneration: 1, versionHash: 'x', availableUpdates: [], history };
  await client.patch(ClusterVersion, ref, { status }, { type: 'merge', subresource: 'status' });
}
